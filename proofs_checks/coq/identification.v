(* Theorem 2 of corrected.md: identification. The counts of a data set may be any weights, and so those
   of the population: then w is the distribution of states, the frequencies are the true choices, and
   P is the true transition of the anchor. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors contraction two_time_scales softmax risk gradient pl smoothness least alpha.
Open Scope R_scope.

(* --- statement *)

(* |R| <= kappa on L2 of states, R the inverse of I - beta P *)
Definition resolvent_below (D : data) (kappa : R) := forall h : vector,
  sum (states D) (fun x => w D x * h x ^ 2) <=
  kappa ^ 2 * sum (states D) (fun x => w D x *
    (h x - beta D * sum (states D) (fun y => P D x y * h y)) ^ 2).

(* Qstar has the true choices and no residual; squares are in L2(d), d = w times the choices. *)
Definition theorem_2 := forall D Qstar, counts D -> condition_S D -> condition_F D ->
  let X := states D in let K := actions D in
  has_coordinates D Qstar (fun x k => ln (frequency D x k)) (fun _ => 0) ->
  (forall q, g D q - g D Qstar =
    sum X (fun x => w D x * kl D q x) + sum X (fun x => b D x * residual D q x ^ 2)) /\
  (forall q, g D q = g D Qstar -> forall x k, (x < X)%nat -> (k < K)%nat ->
    q (pair K x k) = Qstar (pair K x k)) /\
  forall kappa p k q, 0 <= kappa -> resolvent_below D kappa -> 0 < p -> 0 < k ->
  (forall x, (x < X)%nat -> p <= frequency D x (anchor D x)) ->
  (forall x a, (x < X)%nat -> (a < K)%nat ->
    Rabs (ln (choice K q x a) - ln (choice K Qstar x a)) <= k) ->
  let m := (exp (- k) - 1 + k) / k ^ 2 in
  sum X (fun x => w D x * sum K (fun a => frequency D x a *
    (q (pair K x a) - Qstar (pair K x a)) ^ 2)) <=
  ((1 + kappa / sqrt p) ^ 2 / m + kappa ^ 2 / p) * (g D q - g D Qstar).

(* --- exp t - 1 - t against squares *)
Lemma exp_below_square : forall t, 0 <= t -> exp (- t) - 1 + t <= t ^ 2 / 2.
Proof.
  intros t Ht.
  pose proof (increasing (fun t => 1 / 2 * t ^ 2 + (-1 * exp (-1 * t) + (1 + -1 * t)))
    (fun t => 1 / 2 * (2 * t * 1) + (-1 * (-1 * exp (-1 * t)) + -1)) 0 t) as H.
  assert (I : 1 / 2 * 0 ^ 2 + (-1 * exp (-1 * 0) + (1 + -1 * 0)) <=
    1 / 2 * t ^ 2 + (-1 * exp (-1 * t) + (1 + -1 * t))).
  { apply H; auto.
    - intros u _. apply derivable_pt_lim_plus.
      + apply scaled_derivative. apply (square_derivative id). apply derivable_pt_lim_id.
      + apply derivable_pt_lim_plus; [apply scaled_derivative; apply exp_scaled | apply affine].
    - intros u _. pose proof (exp_ineq1_le (-1 * u)). lra. }
  rewrite !Rmult_0_r, exp_0 in I. replace (-1 * t) with (- t) in I by ring. lra.
Qed.

Lemma exp_above_square : forall t, 0 <= t -> t ^ 2 / 2 <= exp t - 1 - t.
Proof.
  intros t Ht.
  pose proof (increasing (fun t => - (1 / 2) * t ^ 2 + (exp (1 * t) + (-1 + -1 * t)))
    (fun t => - (1 / 2) * (2 * t * 1) + (1 * exp (1 * t) + -1)) 0 t) as H.
  assert (I : - (1 / 2) * 0 ^ 2 + (exp (1 * 0) + (-1 + -1 * 0)) <=
    - (1 / 2) * t ^ 2 + (exp (1 * t) + (-1 + -1 * t))).
  { apply H; auto.
    - intros u _. apply derivable_pt_lim_plus.
      + apply scaled_derivative. apply (square_derivative id). apply derivable_pt_lim_id.
      + apply derivable_pt_lim_plus; [apply exp_scaled | apply affine].
    - intros u _. pose proof (exp_ineq1_le (1 * u)). lra. }
  rewrite !Rmult_0_r, exp_0 in I. replace (1 * t) with t in I by ring. lra.
Qed.

(* the numerator of the slope of (exp (- t) - 1 + t) / t^2, its sign changed *)
Lemma numerator : forall t, 0 <= t -> 0 <= (t + 2) * exp (-1 * t) + (-2 + 1 * t).
Proof.
  intros t Ht.
  pose proof (increasing (fun t => (2 + 1 * t) * exp (-1 * t) + (-2 + 1 * t))
    (fun t => (1 * exp (-1 * t) + (2 + 1 * t) * (-1 * exp (-1 * t))) + 1) 0 t) as H.
  assert (I : (2 + 1 * 0) * exp (-1 * 0) + (-2 + 1 * 0) <=
    (2 + 1 * t) * exp (-1 * t) + (-2 + 1 * t)).
  { apply H; auto.
    - intros u _. apply derivable_pt_lim_plus; [| apply affine].
      apply (derivable_pt_lim_mult (fun t => 2 + 1 * t) (fun t => exp (-1 * t)));
        [apply affine | apply exp_scaled].
    - intros u Hu. pose proof (exp_ineq1_le u). pose proof (exp_pos (-1 * u)).
      assert (E : exp u * exp (-1 * u) = 1)
        by (rewrite <- exp_plus; replace (u + -1 * u) with 0 by ring; apply exp_0).
      nra. }
  rewrite !Rmult_0_r, exp_0 in I. lra.
Qed.

Lemma ratio_rises : forall s k, 0 < s -> s <= k ->
  (exp (- k) - 1 + k) / k ^ 2 <= (exp (- s) - 1 + s) / s ^ 2.
Proof.
  intros s k Hs Hk. set (A := fun t => exp (-1 * t) + (-1 + 1 * t)).
  pose proof (increasing (fun t => -1 * ((A / (fun t => t ^ 2))%F t))
    (fun t => -1 * (((-1 * exp (-1 * t) + 1) * t ^ 2 - (2 * t * 1) * A t) / Rsqr (t ^ 2))) s k) as H.
  assert (I : -1 * ((A / (fun t => t ^ 2))%F s) <= -1 * ((A / (fun t => t ^ 2))%F k)).
  { apply H; auto.
    - intros u Hu. apply scaled_derivative. apply derivable_pt_lim_div.
      + apply derivable_pt_lim_plus; [apply exp_scaled | apply affine].
      + apply (square_derivative id). apply derivable_pt_lim_id.
      + apply pow_nonzero. lra.
    - intros u Hu. pose proof (numerator u ltac:(lra)) as Q.
      replace (-1 * (((-1 * exp (-1 * u) + 1) * u ^ 2 - 2 * u * 1 * A u) / Rsqr (u ^ 2)))
        with (((u + 2) * exp (-1 * u) + (-2 + 1 * u)) * / u ^ 3)
        by (unfold A, Rsqr; field; lra).
      apply Rmult_le_pos; [auto |]. left. apply Rinv_0_lt_compat. apply pow_lt. lra. }
  unfold div_fct, A in I. replace (-1 * s) with (- s) in I by ring.
  replace (-1 * k) with (- k) in I by ring.
  replace (exp (- s) - 1 + s) with (exp (- s) + (-1 + 1 * s)) by ring.
  replace (exp (- k) - 1 + k) with (exp (- k) + (-1 + 1 * k)) by ring. lra.
Qed.

Lemma m_bounds : forall k, 0 < k -> 0 < (exp (- k) - 1 + k) / k ^ 2 <= 1 / 2.
Proof.
  intros k Hk. assert (K2 : 0 < k ^ 2) by (apply pow_lt; auto). split.
  - apply Rdiv_lt_0_compat; [| auto]. pose proof (exp_ineq1 (- k) ltac:(lra)). lra.
  - pose proof (exp_below_square k ltac:(lra)). apply Rmult_le_reg_r with (k ^ 2); [auto |].
    replace ((exp (- k) - 1 + k) / k ^ 2 * k ^ 2) with (exp (- k) - 1 + k) by (field; lra). lra.
Qed.

Lemma exp_against_square : forall k t, 0 < k -> Rabs t <= k ->
  (exp (- k) - 1 + k) / k ^ 2 * t ^ 2 <= exp t - 1 - t.
Proof.
  intros k t Hk Ht. pose proof (m_bounds k Hk) as [M0 M1]. set (m := _ / _) in *.
  destruct (Rle_lt_dec 0 t) as [L | L].
  - pose proof (exp_above_square t L). pose proof (pow2_ge_0 t). nra.
  - rewrite Rabs_left in Ht by auto. pose proof (ratio_rises (- t) k ltac:(lra) Ht) as R.
    fold m in R. rewrite Ropp_involutive in R.
    assert (T2 : 0 < (- t) ^ 2) by (apply pow_lt; lra).
    apply Rmult_le_compat_r with (r := (- t) ^ 2) in R; [| lra].
    replace ((exp t - 1 + - t) / (- t) ^ 2 * (- t) ^ 2) with (exp t - 1 - t) in R by (field; lra).
    replace (t ^ 2) with ((- t) ^ 2) by ring. exact R.
Qed.

(* --- proofs *)
Section Proof.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).
Hypothesis C : counts D.
Hypothesis S : condition_S D.
Hypothesis F : condition_F D.
Variable Qstar : vector.
Hypothesis Star : has_coordinates D Qstar (fun x k => ln (frequency D x k)) (fun _ => 0).
Variable q : vector.

Let lambda (x k : nat) := ln (choice K q x k) - ln (frequency D x k).
Let e (x : nat) := residual D q x.
Let h (x : nat) := value K Qstar x - value K q x.

Lemma pi_pos : forall x a, (x < X)%nat -> (a < K)%nat -> 0 < frequency D x a.
Proof.
  intros. unfold frequency. apply Rdiv_lt_0_compat; [apply F; auto | apply visits_pos; auto].
Qed.

Lemma star_is_least : g D Qstar = entropy D.
Proof.
  destruct (coordinates_hold D C S Qstar) as [_ E]. rewrite E.
  rewrite (sum_ext X (fun x => w D x * kl D Qstar x) (fun _ => 0)), sum_const.
  - rewrite (sum_ext X (fun x => b D x * residual D Qstar x ^ 2) (fun _ => 0)), sum_const; [ring |].
    intros x Hx. destruct (Star x Hx) as [Z _]. rewrite Z. ring.
  - intros x Hx. unfold kl. rewrite (sum_ext K _ (fun _ => 0)), sum_const; [ring |].
    intros k Hk. destruct (Star x Hx) as [_ L]. rewrite L by auto. ring.
Qed.

Lemma excess : g D q - g D Qstar =
  sum X (fun x => w D x * kl D q x) + sum X (fun x => b D x * residual D q x ^ 2).
Proof. rewrite star_is_least. apply (gap_is D C S q). Qed.

Lemma kl_is : forall x, (x < X)%nat ->
  kl D q x = sum K (fun k => frequency D x k * (exp (lambda x k) - 1 - lambda x k)).
Proof.
  intros x Hx. pose proof (actions_pos D C) as HK.
  rewrite (sum_ext K _ (fun k => choice K q x k + (-1 * frequency D x k +
    frequency D x k * (ln (frequency D x k) - ln (choice K q x k))))).
  - rewrite !sum_plus, sum_scal, choice_sum, frequency_sum by auto. unfold kl. ring.
  - intros k Hk. pose proof (pi_pos x k Hx Hk) as Pp. pose proof (choice_pos K q x k HK) as Cp.
    assert (El : exp (lambda x k) = choice K q x k / frequency D x k).
    { unfold lambda, Rminus. rewrite exp_plus, exp_Ropp, !exp_ln by auto. reflexivity. }
    rewrite El. unfold lambda. field. lra.
Qed.

Lemma difference : forall x k, (x < X)%nat -> (k < K)%nat ->
  q (pair K x k) - Qstar (pair K x k) = lambda x k - h x.
Proof.
  intros x k Hx Hk. pose proof (actions_pos D C) as HK. destruct (Star x Hx) as [_ L].
  unfold lambda. rewrite <- L by auto. rewrite !log_choice by auto. unfold h. ring.
Qed.

Lemma h_solves : forall x, (x < X)%nat ->
  h x - beta D * sum X (fun y => P D x y * h y) = lambda x (anchor D x) + e x.
Proof.
  intros x Hx. pose proof (actions_pos D C) as HK. pose proof (anchor_in D C x Hx) as A.
  destruct (Star x Hx) as [E L]. unfold lambda. rewrite <- L by auto.
  rewrite !log_choice by auto. unfold e, residual, PV, ahead, h in *.
  rewrite (sum_ext X (fun y => P D x y * _) (fun y => P D x y * value K Qstar y +
    -1 * (P D x y * value K q y))) by (intros; ring).
  rewrite sum_plus, sum_scal. lra.
Qed.

Lemma zero_only_there : g D q = g D Qstar -> forall x k, (x < X)%nat -> (k < K)%nat ->
  q (pair K x k) = Qstar (pair K x k).
Proof.
  intros Eq x k Hx Hk. pose proof (actions_pos D C) as HK. pose proof excess as Ex.
  pose proof (kl_part_pos D C S q) as P1. pose proof (be_part_pos D C S q) as P2.
  assert (Z1 : forall y, (y < X)%nat -> kl D q y = 0).
  { intros y Hy. pose proof (w_pos D C S y Hy). pose proof (kl_nonneg D C S q y Hy).
    pose proof (sum_term X (fun x => w D x * kl D q x) y
      ltac:(intros; apply Rmult_le_pos; [apply w_nonneg | apply kl_nonneg]; auto) Hy) as T.
    cbv beta in T. nra. }
  assert (Z2 : forall y, (y < X)%nat -> residual D q y = 0).
  { intros y Hy. pose proof (b_pos D C S y Hy). pose proof (pow2_ge_0 (residual D q y)).
    pose proof (sum_term X (fun x => b D x * residual D q x ^ 2) y
      ltac:(intros; apply Rmult_le_pos; [apply b_nonneg; auto | apply pow2_ge_0]) Hy) as T.
    cbv beta in T. assert (residual D q y ^ 2 = 0) by nra. nra. }
  set (l := fun x k => ln (frequency D x k)).
  assert (Hl : log_choices D l).
  { intros y Hy. rewrite <- (frequency_sum D C S y Hy). apply sum_ext. intros j Hj.
    apply exp_ln. apply pi_pos; auto. }
  assert (Cq : has_coordinates D q l (fun _ => 0)).
  { intros y Hy. split; [apply Z2; auto |]. intros j Hj. pose proof (kl_is y Hy) as Kl.
    rewrite Z1 in Kl by auto. pose proof (pi_pos y j Hy Hj) as Pp.
    assert (Tp : forall i, (i < K)%nat ->
      0 <= frequency D y i * (exp (lambda y i) - 1 - lambda y i)).
    { intros i Hi. pose proof (pi_pos y i Hy Hi). pose proof (exp_ineq1_le (lambda y i)).
      apply Rmult_le_pos; lra. }
    pose proof (sum_term K _ j Tp Hj) as T. cbv beta in T.
    destruct (Req_dec (lambda y j) 0) as [Z | Z]; [unfold lambda in Z; unfold l; lra |].
    pose proof (exp_ineq1 (lambda y j) Z). exfalso.
    assert (0 < frequency D y j * (exp (lambda y j) - 1 - lambda y j))
      by (apply Rmult_lt_0_compat; lra). lra. }
  destruct (bijection_of_tables_holds D l (fun _ => 0) C S Hl) as [V [_ [_ [_ U]]]].
  destruct (U q Cq x Hx) as [_ Uq]. destruct (U Qstar Star x Hx) as [_ Us].
  rewrite Uq, Us by auto. auto.
Qed.

(* |a + c| <= |a| + |c| *)
Lemma triangle : forall (a c : vector) A B, 0 <= A -> 0 <= B ->
  sum X (fun x => w D x * a x ^ 2) <= A ^ 2 -> sum X (fun x => w D x * c x ^ 2) <= B ^ 2 ->
  sum X (fun x => w D x * (a x + c x) ^ 2) <= (A + B) ^ 2.
Proof.
  intros a c A B HA HB H1 H2.
  assert (Cr : sum X (fun x => w D x * a x * c x) <= A * B).
  { apply below_root; [apply Rmult_le_pos; auto |]. rewrite Rpow_mult_distr.
    eapply Rle_trans; [apply cauchy_sum; intros; apply w_nonneg; auto |].
    apply Rmult_le_compat; auto; apply sum_pos; intros; apply Rmult_le_pos;
      (apply w_nonneg; auto) || apply pow2_ge_0. }
  rewrite (sum_ext X _ (fun x => w D x * a x ^ 2 + (2 * (w D x * a x * c x) + w D x * c x ^ 2)))
    by (intros; ring).
  rewrite !sum_plus, sum_scal. nra.
Qed.

Variables (kappa p k : R).
Hypotheses (Hk : 0 <= kappa) (Hp : 0 < p) (Hk0 : 0 < k).
Hypothesis Res : resolvent_below D kappa.
Hypothesis Pa : forall x, (x < X)%nat -> p <= frequency D x (anchor D x).
Hypothesis Near : forall x a, (x < X)%nat -> (a < K)%nat -> Rabs (lambda x a) <= k.

Let m := (exp (- k) - 1 + k) / k ^ 2.
Let L2 := sum X (fun x => w D x * sum K (fun a => frequency D x a * lambda x a ^ 2)).
Let E2 := sum X (fun x => b D x * e x ^ 2).

Lemma L2_pos : 0 <= L2.
Proof.
  apply sum_pos. intros x Hx. apply Rmult_le_pos; [apply w_nonneg; auto |]. apply sum_pos. intros.
  apply Rmult_le_pos; [apply frequency_nonneg; auto | apply pow2_ge_0].
Qed.

Lemma E2_pos : 0 <= E2.
Proof. apply be_part_pos; auto. Qed.

Lemma b_is : forall x, (x < X)%nat -> b D x = w D x * frequency D x (anchor D x).
Proof.
  intros x Hx. unfold b, w, frequency. pose proof (visits_pos D C S x Hx).
  pose proof (observations_pos D C S). field. lra.
Qed.

Lemma kl_above_square : m * L2 <= sum X (fun x => w D x * kl D q x).
Proof.
  unfold L2. rewrite <- sum_scal. apply sum_le. intros x Hx. rewrite (kl_is x Hx).
  pose proof (w_nonneg D C S x).
  replace (m * (w D x * sum K (fun a => frequency D x a * lambda x a ^ 2))) with
    (w D x * (m * sum K (fun a => frequency D x a * lambda x a ^ 2))) by ring.
  apply Rmult_le_compat_l; [auto |]. rewrite <- sum_scal. apply sum_le. intros a Ha.
  pose proof (exp_against_square k (lambda x a) Hk0 (Near x a Hx Ha)) as B. fold m in B.
  pose proof (pi_pos x a Hx Ha). nra.
Qed.

Lemma at_anchor : sum X (fun x => w D x * lambda x (anchor D x) ^ 2) <= (sqrt L2 / sqrt p) ^ 2.
Proof.
  pose proof (sqrt_lt_R0 p Hp) as Sp.
  replace ((sqrt L2 / sqrt p) ^ 2) with (L2 / p).
  2: { replace ((sqrt L2 / sqrt p) ^ 2) with (sqrt L2 ^ 2 / sqrt p ^ 2) by (field; lra).
    rewrite !pow2_sqrt by (lra || apply L2_pos). auto. }
  unfold L2, Rdiv. rewrite Rmult_comm, <- sum_scal. apply sum_le. intros x Hx.
  pose proof (w_nonneg D C S x). pose proof (anchor_in D C x Hx) as A.
  set (z := lambda x (anchor D x)).
  assert (T : frequency D x (anchor D x) * z ^ 2 <=
    sum K (fun a => frequency D x a * lambda x a ^ 2)).
  { apply (sum_term K (fun a => frequency D x a * lambda x a ^ 2)); auto.
    intros. apply Rmult_le_pos; [apply frequency_nonneg; auto | apply pow2_ge_0]. }
  pose proof (Pa x Hx). pose proof (pow2_ge_0 z).
  apply Rmult_le_reg_l with p; [auto |].
  set (sm := sum K _) in *. replace (p * (/ p * (w D x * sm))) with (w D x * sm) by (field; lra).
  replace (p * (w D x * z ^ 2)) with (w D x * (p * z ^ 2)) by ring.
  apply Rmult_le_compat_l; [auto | nra].
Qed.

Lemma e_by_states : sum X (fun x => w D x * e x ^ 2) <= (sqrt E2 / sqrt p) ^ 2.
Proof.
  pose proof (sqrt_lt_R0 p Hp) as Sp.
  replace ((sqrt E2 / sqrt p) ^ 2) with (E2 / p).
  2: { replace ((sqrt E2 / sqrt p) ^ 2) with (sqrt E2 ^ 2 / sqrt p ^ 2) by (field; lra).
    rewrite !pow2_sqrt by (lra || apply E2_pos). auto. }
  unfold E2, Rdiv. rewrite Rmult_comm, <- sum_scal. apply sum_le. intros x Hx.
  rewrite b_is by auto. pose proof (w_nonneg D C S x). pose proof (Pa x Hx).
  pose proof (pow2_ge_0 (e x)). apply Rmult_le_reg_l with p; [auto |].
  set (f := frequency D x (anchor D x)) in *.
  replace (p * (/ p * (w D x * f * e x ^ 2))) with (w D x * (f * e x ^ 2)) by (field; lra).
  replace (p * (w D x * e x ^ 2)) with (w D x * (p * e x ^ 2)) by ring.
  apply Rmult_le_compat_l; [auto | nra].
Qed.

Lemma h_below : sum X (fun x => w D x * h x ^ 2) <=
  (kappa / sqrt p * (sqrt L2 + sqrt E2)) ^ 2.
Proof.
  pose proof (sqrt_lt_R0 p Hp) as Sp. pose proof (sqrt_pos L2). pose proof (sqrt_pos E2).
  assert (I : 0 <= / sqrt p) by (left; apply Rinv_0_lt_compat; auto).
  eapply Rle_trans; [apply Res |].
  rewrite (sum_ext X _ (fun x => w D x * (lambda x (anchor D x) + e x) ^ 2))
    by (intros; rewrite h_solves; auto).
  replace ((kappa / sqrt p * (sqrt L2 + sqrt E2)) ^ 2) with
    (kappa ^ 2 * (sqrt L2 / sqrt p + sqrt E2 / sqrt p) ^ 2) by (field; lra).
  apply Rmult_le_compat_l; [apply pow2_ge_0 |].
  apply (triangle (fun x => lambda x (anchor D x)) e); try apply at_anchor; try apply e_by_states;
    unfold Rdiv; apply Rmult_le_pos; auto.
Qed.

Lemma distance : sum X (fun x => w D x * sum K (fun a => frequency D x a *
    (q (pair K x a) - Qstar (pair K x a)) ^ 2)) <=
  ((1 + kappa / sqrt p) ^ 2 / m + kappa ^ 2 / p) * (g D q - g D Qstar).
Proof.
  pose proof (sqrt_lt_R0 p Hp) as Sp. pose proof (sqrt_pos L2) as SL. pose proof (sqrt_pos E2) as SE.
  pose proof (m_bounds k Hk0) as [M0 _]. fold m in M0.
  pose proof L2_pos as L0. pose proof E2_pos as E0.
  set (r := kappa / sqrt p).
  assert (R0 : 0 <= r) by (unfold r, Rdiv; apply Rmult_le_pos; [auto | left; apply Rinv_0_lt_compat; auto]).
  set (mean := fun x => sum K (fun a => frequency D x a * lambda x a)).
  set (H2 := sum X (fun x => w D x * h x ^ 2)).
  pose proof h_below as Hb. fold r H2 in Hb.
  assert (Split : sum X (fun x => w D x * sum K (fun a => frequency D x a *
      (q (pair K x a) - Qstar (pair K x a)) ^ 2)) =
    L2 + (2 * - sum X (fun x => w D x * mean x * h x) + H2)).
  { unfold L2, H2. replace (2 * - sum X (fun x => w D x * mean x * h x)) with
      (-2 * sum X (fun x => w D x * mean x * h x)) by ring.
    rewrite <- sum_scal, <- !sum_plus. apply sum_ext. intros x Hx.
    rewrite (sum_ext K _ (fun a => frequency D x a * lambda x a ^ 2 +
      (-2 * h x * (frequency D x a * lambda x a) + h x ^ 2 * frequency D x a)))
      by (intros a Ha; rewrite difference by auto; ring).
    rewrite !sum_plus, !sum_scal, frequency_sum by auto. fold (mean x). ring. }
  rewrite Split.
  assert (Mb : sum X (fun x => w D x * mean x ^ 2) <= L2).
  { unfold L2. apply sum_le. intros x Hx. apply Rmult_le_compat_l; [apply w_nonneg; auto |].
    apply mean_square; [intros; apply frequency_nonneg; auto | apply frequency_sum; auto]. }
  set (y := r * (sqrt L2 + sqrt E2)) in *.
  assert (Y0 : 0 <= y) by (apply Rmult_le_pos; lra).
  assert (Cr : - sum X (fun x => w D x * mean x * h x) <= sqrt L2 * y).
  { apply below_root; [apply Rmult_le_pos; auto |].
    replace ((- sum X (fun x => w D x * mean x * h x)) ^ 2)
      with (sum X (fun x => w D x * mean x * h x) ^ 2) by ring.
    rewrite Rpow_mult_distr, (pow2_sqrt L2) by auto.
    eapply Rle_trans; [apply cauchy_sum; intros; apply w_nonneg; auto |].
    apply Rmult_le_compat; auto; apply sum_pos; intros; apply Rmult_le_pos;
      (apply w_nonneg; auto) || apply pow2_ge_0. }
  assert (Sq : L2 + (2 * - sum X (fun x => w D x * mean x * h x) + H2) <= (sqrt L2 + y) ^ 2).
  { pose proof (pow2_sqrt L2 L0). nra. }
  eapply Rle_trans; [exact Sq |]. rewrite excess. pose proof kl_above_square as Kb.
  fold e in Kb |- *. change (sum X (fun x => b D x * residual D q x ^ 2)) with E2.
  apply Rle_trans with (((1 + r) ^ 2 / m + kappa ^ 2 / p) * (m * L2 + E2)).
  - assert (Rp : kappa ^ 2 / p = r ^ 2).
    { unfold r. replace ((kappa / sqrt p) ^ 2) with (kappa ^ 2 / sqrt p ^ 2) by (field; lra).
      rewrite pow2_sqrt by lra. auto. }
    rewrite Rp. unfold y. pose proof (pow2_sqrt L2 L0) as Q1. pose proof (pow2_sqrt E2 E0) as Q2.
    set (s := sqrt L2) in *. set (t := sqrt E2) in *.
    replace (m * L2 + E2) with (m * s ^ 2 + t ^ 2) by (rewrite Q1, Q2; ring).
    assert (P2 : 0 <= ((1 + r) * t - r * m * s) ^ 2 / m).
    { unfold Rdiv. apply Rmult_le_pos; [apply pow2_ge_0 | left; apply Rinv_0_lt_compat; auto]. }
    replace (((1 + r) ^ 2 / m + r ^ 2) * (m * s ^ 2 + t ^ 2)) with
      ((s + r * (s + t)) ^ 2 + ((1 + r) * t - r * m * s) ^ 2 / m) by (field; lra). lra.
  - apply Rmult_le_compat_l; [| lra]. apply Rplus_le_le_0_compat; unfold Rdiv;
      apply Rmult_le_pos; try apply pow2_ge_0; left; apply Rinv_0_lt_compat; auto.
Qed.
End Proof.

Theorem theorem_2_holds : theorem_2.
Proof.
  intros D Qstar C S F X K Star. split; [| split].
  - intros q. apply excess; auto.
  - intros q E. apply zero_only_there; auto.
  - intros kappa p k q Hk Res Hp Hk0 Pa Near m. apply distance; auto.
    intros x a Hx Ha. destruct (Star x Hx) as [_ L]. rewrite <- L by auto. apply Near; auto.
Qed.

Print Assumptions theorem_2_holds.
