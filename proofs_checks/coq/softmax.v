(* Choice probabilities and V of the paper, for tables: states with K actions each, the pair (y, k)
   at the index y K + k. The derivative of P V_q is proved and bounded, as Theorem 6 needs it. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality vectors two_time_scales.
Open Scope R_scope.

(* --- statements *)
Definition pair (K y k : nat) : nat := (y * K + k)%nat.
Definition total (K : nat) (q : vector) (y : nat) := sum K (fun k => exp (q (pair K y k))).
(* p_Q(k | y) and V_Q(y) *)
Definition choice (K : nat) (q : vector) (y k : nat) := exp (q (pair K y k)) / total K q y.
Definition value (K : nat) (q : vector) (y : nat) := ln (total K q y).
(* (P V_q)(j), and its derivative in q along p *)
Definition ahead (Y K : nat) (P : nat -> vector) (q : vector) : vector :=
  fun j => sum Y (fun y => P j y * value K q y).
Definition slope (Y K : nat) (P : nat -> vector) (q p : vector) : vector :=
  fun j => sum Y (fun y => P j y * sum K (fun k => choice K q y k * p (pair K y k))).

(* w_y visits of y, in the metric over pairs; rows of P add up to one; (b P)(y) <= nu^2 w_y *)
Definition the_paper_s_v := forall Y K m P wy b nu, (0 < K)%nat ->
  (forall j y, (j < m)%nat -> (y < Y)%nat -> 0 <= P j y) ->
  (forall j, (j < m)%nat -> sum Y (P j) = 1) -> (forall j, (j < m)%nat -> 0 <= b j) ->
  (forall y, (y < Y)%nat -> sum m (fun j => b j * P j y) <= nu ^ 2 * wy y) ->
  derivative_of_v (ahead Y K P) (slope Y K P) /\
  forall w, (forall y k, (k < K)%nat -> w (pair K y k) = wy y) ->
    bounded_by (Y * K) m w b nu (slope Y K P).

(* --- choices *)
Lemma total_pos : forall K q y, (0 < K)%nat -> 0 < total K q y.
Proof.
  intros K q y H. unfold total. destruct K as [| K]; [inversion H |]. simpl.
  assert (0 <= sum K (fun k => exp (q (pair (S K) y k))))
    by (apply sum_pos; intros; left; apply exp_pos).
  pose proof (exp_pos (q (pair (S K) y K))). lra.
Qed.

Lemma choice_pos : forall K q y k, (0 < K)%nat -> 0 < choice K q y k.
Proof.
  intros. unfold choice. apply Rdiv_lt_0_compat; [apply exp_pos | apply total_pos; auto].
Qed.

Lemma choice_sum : forall K q y, (0 < K)%nat -> sum K (choice K q y) = 1.
Proof.
  intros K q y H. pose proof (total_pos K q y H) as P. unfold choice.
  rewrite (sum_ext K _ (fun k => / total K q y * exp (q (pair K y k))))
    by (intros; unfold Rdiv; ring).
  rewrite sum_scal. fold (total K q y). field. lra.
Qed.

Lemma choice_le : forall K q y k, (0 < K)%nat -> (k < K)%nat -> choice K q y k <= 1.
Proof.
  intros K q y k H Hk. rewrite <- (choice_sum K q y H).
  apply (sum_term K (choice K q y)); [intros; left; apply choice_pos; auto | auto].
Qed.

Lemma log_choice : forall K q y k, (0 < K)%nat ->
  ln (choice K q y k) = q (pair K y k) - value K q y.
Proof.
  intros. unfold choice, value, Rdiv. pose proof (total_pos K q y H).
  rewrite ln_mult, ln_exp, ln_Rinv; [ring | auto | apply exp_pos | apply Rinv_0_lt_compat; auto].
Qed.

Lemma ln_below : forall t, 0 < t -> ln t <= t - 1.
Proof.
  intros t Ht. pose proof (exp_ineq1_le (ln t)) as H. rewrite exp_ln in H by auto. lra.
Qed.

(* KL (pi || p) is not negative; 0 ln 0 is 0 *)
Lemma gibbs_inequality : forall K q y pi, (0 < K)%nat -> (forall k, (k < K)%nat -> 0 <= pi k) ->
  sum K pi = 1 -> 0 <= sum K (fun k => pi k * (ln (pi k) - ln (choice K q y k))).
Proof.
  intros K q y pi HK H H1. apply Rle_trans with (sum K (fun k => pi k + -1 * choice K q y k)).
  - rewrite sum_plus, sum_scal, H1, choice_sum by auto. lra.
  - apply sum_le. intros k Hk. pose proof (choice_pos K q y k HK) as Q. destruct (H k Hk) as [P | P].
    + assert (R : 0 < choice K q y k / pi k) by (apply Rdiv_lt_0_compat; auto).
      pose proof (ln_below _ R) as L. unfold Rdiv in L at 1.
      rewrite ln_mult, ln_Rinv in L by (auto using Rinv_0_lt_compat).
      assert (E : pi k * (choice K q y k / pi k) = choice K q y k) by (field; lra). nra.
    + rewrite <- P. lra.
Qed.

(* --- derivatives, along any differentiable curve u *)
Definition curve (u : R -> vector) (s : R) (u' : vector) :=
  forall i, derivable_pt_lim (fun s => u s i) s (u' i).

Lemma line : forall q p s, curve (along q p) s p.
Proof.
  intros q p s i eps He. exists (mkposreal 1 Rlt_0_1). intros h Hh _. unfold along.
  replace ((q i + (s + h) * p i - (q i + s * p i)) / h - p i) with 0 by (field; auto).
  rewrite Rabs_R0. exact He.
Qed.

Lemma value_curve : forall K u u' y s, (0 < K)%nat -> curve u s u' ->
  derivable_pt_lim (fun s => value K (u s) y) s
    (sum K (fun k => choice K (u s) y k * u' (pair K y k))).
Proof.
  intros K u u' y s H D. unfold value.
  pose proof (total_pos K (u s) y H) as P.
  assert (E : sum K (fun k => choice K (u s) y k * u' (pair K y k)) =
    / total K (u s) y * sum K (fun k => exp (u s (pair K y k)) * u' (pair K y k))).
  { rewrite <- sum_scal. apply sum_ext. intros. unfold choice, Rdiv. ring. }
  rewrite E. apply (derivable_pt_lim_comp (fun s => total K (u s) y) ln).
  - unfold total. apply (sum_derivative K (fun s k => exp (u s (pair K y k)))).
    intros k. apply (derivable_pt_lim_comp (fun s => u s (pair K y k)) exp); [apply D |].
    apply derivable_pt_lim_exp.
  - apply derivable_pt_lim_ln. auto.
Qed.

Lemma ahead_curve : forall Y K P u u' j s, (0 < K)%nat -> curve u s u' ->
  derivable_pt_lim (fun s => ahead Y K P (u s) j) s (slope Y K P (u s) u' j).
Proof.
  intros Y K P u u' j s H D. unfold ahead, slope.
  apply (sum_derivative Y (fun s y => P j y * value K (u s) y)). intros y.
  apply scaled_derivative. apply value_curve; auto.
Qed.

(* --- sums over pairs *)
Lemma sum_pairs : forall Y K x, sum (Y * K) x = sum Y (fun y => sum K (fun k => x (pair K y k))).
Proof.
  intros Y K x. induction Y; simpl; [auto |]. rewrite <- IHY.
  assert (G : forall n, sum (n + Y * K) x = sum (Y * K) x + sum n (fun k => x (pair K Y k))).
  { induction n; simpl; [ring |]. rewrite IHn. unfold pair. rewrite (Nat.add_comm (Y * K) n). ring. }
  apply G.
Qed.

Theorem the_paper_s_v_holds : the_paper_s_v.
Proof.
  intros Y K m P wy b nu HK HP H1 Hb Hnu. split.
  - intros q p j s. apply (ahead_curve Y K P (along q p)); [auto | apply line].
  - intros w Hw q p.
    set (sq := fun y => sum K (fun k => p (pair K y k) ^ 2)).
    assert (Sq : forall y, 0 <= sq y) by (intros; apply sum_pos; intros; apply pow2_ge_0).
    assert (R1 : dot (Y * K) w p p = sum Y (fun y => wy y * sq y)).
    { rewrite dot_sum, sum_pairs. apply sum_ext. intros y _. unfold sq. rewrite <- sum_scal.
      apply sum_ext. intros k Hk. rewrite Hw by auto. ring. }
    rewrite R1, dot_sum.
    apply Rle_trans with (sum m (fun j => sum Y (fun y => b j * P j y * sq y))).
    + apply sum_le. intros j Hj.
      rewrite (sum_ext Y _ (fun y => b j * (P j y * sq y))) by (intros; ring). rewrite sum_scal.
      replace (b j * slope Y K P q p j * slope Y K P q p j)
        with (b j * slope Y K P q p j ^ 2) by ring.
      apply Rmult_le_compat_l; [auto |]. unfold slope.
      eapply Rle_trans; [apply mean_square; auto |].
      apply sum_le. intros y Hy. apply Rmult_le_compat_l; [auto |].
      eapply Rle_trans; [apply mean_square; [intros; left; apply choice_pos; auto |
        apply choice_sum; auto] |].
      unfold sq. apply sum_le. intros k Hk.
      rewrite <- (Rmult_1_l (p (pair K y k) ^ 2)) at 2.
      apply Rmult_le_compat_r; [apply pow2_ge_0 | apply choice_le; auto].
    + rewrite sum_swap, <- sum_scal. apply sum_le. intros y Hy.
      rewrite (sum_ext m _ (fun j => sq y * (b j * P j y))) by (intros; ring). rewrite sum_scal.
      replace (nu ^ 2 * (wy y * sq y)) with (sq y * (nu ^ 2 * wy y)) by ring.
      apply Rmult_le_compat_l; auto.
Qed.

Print Assumptions the_paper_s_v_holds.
