(* The rest of Theorem 1 of corrected.md: (l, e) are coordinates of tables, and entropy is the least
   value of g. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors contraction two_time_scales softmax risk gradient pl.
Open Scope R_scope.

(* --- statements *)

(* l = log p_Q: in each state its exponentials add up to one. e is any vector of residuals. *)
Definition log_choices (D : data) (l : nat -> nat -> R) := forall x, (x < states D)%nat ->
  sum (actions D) (fun k => exp (l x k)) = 1.
(* (I - beta P) V = r_a - l_a - e *)
Definition solves (D : data) (l : nat -> nat -> R) (e V : vector) := forall x, (x < states D)%nat ->
  V x - beta D * sum (states D) (fun y => P D x y * V y) = reward D x - l x (anchor D x) - e x.
Definition has_coordinates (D : data) (q : vector) (l : nat -> nat -> R) (e : vector) :=
  forall x, (x < states D)%nat -> residual D q x = e x /\
    forall k, (k < actions D)%nat -> ln (choice (actions D) q x k) = l x k.

(* Q <-> (l, e) is a bijection: V is the only solution of its system, and Q = V + l. *)
Definition bijection_of_tables := forall D l e, counts D -> condition_S D -> log_choices D l ->
  exists V, solves D l e V /\
  (forall V', solves D l e V' -> forall x, (x < states D)%nat -> V' x = V x) /\
  has_coordinates D (table (actions D) (fun x k => V x + l x k)) l e /\
  forall q, has_coordinates D q l e -> forall x, (x < states D)%nat ->
    value (actions D) q x = V x /\
    forall k, (k < actions D)%nat -> q (pair (actions D) x k) = V x + l x k.

(* Under (F) the least value of g over all tables is entropy, and it is attained. *)
Definition least_value := forall D, counts D -> condition_S D -> condition_F D ->
  (forall q, entropy D <= g D q) /\
  exists q, g D q = entropy D /\ (forall x, (x < states D)%nat -> residual D q x = 0 /\
    forall k, (k < actions D)%nat -> choice (actions D) q x k = frequency D x k).

(* --- V = c + beta P V *)
Section Fixed_point.
Variables (n : nat) (P : nat -> vector) (beta : R) (c : vector).
Hypothesis HP : forall x y, (x < n)%nat -> (y < n)%nat -> 0 <= P x y.
Hypothesis H1 : forall x, (x < n)%nat -> sum n (P x) = 1.
Hypothesis Hb : 0 <= beta < 1.

Definition apply_once (V : vector) : vector := fun x => beta * sum n (fun y => P x y * V y).

Lemma contraction : forall V M, (forall x, (x < n)%nat -> Rabs (V x) <= M) ->
  forall x, (x < n)%nat -> Rabs (apply_once V x) <= beta * M.
Proof.
  intros V M H x Hx. unfold apply_once. rewrite Rabs_mult, (Rabs_pos_eq beta) by lra.
  apply Rmult_le_compat_l; [lra |].
  assert (G : forall m, (m <= n)%nat ->
    Rabs (sum m (fun y => P x y * V y)) <= sum m (fun y => M * P x y)).
  { induction m; intros Hm; simpl; [rewrite Rabs_R0; lra |].
    eapply Rle_trans; [apply Rabs_triang |]. apply Rplus_le_compat; [apply IHm; lia |].
    rewrite Rabs_mult, (Rabs_pos_eq (P x m)), Rmult_comm by (apply HP; auto).
    apply Rmult_le_compat_r; [apply HP | apply H]; auto. }
  eapply Rle_trans; [apply G; auto |]. rewrite sum_scal, H1 by auto. lra.
Qed.

Lemma apply_less : forall V U x, apply_once V x - apply_once U x = apply_once (less V U) x.
Proof.
  intros. unfold apply_once, less.
  rewrite (sum_ext n (fun y => P x y * (V y - U y)) (fun y => P x y * V y + -1 * (P x y * U y)))
    by (intros; ring).
  rewrite sum_plus, sum_scal. ring.
Qed.

Lemma affine_contracts : contracts n (fun V x => c x + apply_once V x) beta.
Proof.
  split; [auto |]. intros V U M H x Hx.
  replace (c x + apply_once V x - (c x + apply_once U x))
    with (apply_once V x - apply_once U x) by ring.
  rewrite apply_less. apply contraction; auto.
Qed.

Lemma fixed_point : exists V, forall x, (x < n)%nat -> V x = c x + apply_once V x.
Proof. apply (one_fixed_point_holds n _ beta affine_contracts). Qed.

Lemma fixed_point_unique : forall V U, (forall x, (x < n)%nat -> V x = c x + apply_once V x) ->
  (forall x, (x < n)%nat -> U x = c x + apply_once U x) -> forall x, (x < n)%nat -> V x = U x.
Proof. apply (one_fixed_point_holds n _ beta affine_contracts). Qed.
End Fixed_point.

(* --- proofs *)
Theorem bijection_of_tables_holds : bijection_of_tables.
Proof.
  intros D l e C S Hl. pose proof (actions_pos D C) as HK.
  assert (HP : forall x y, (x < states D)%nat -> (y < states D)%nat -> 0 <= P D x y)
    by (intros; apply P_nonneg; auto).
  pose proof (P_sum D C S) as H1.
  assert (Hb : 0 <= beta D < 1) by apply C.
  destruct (fixed_point (states D) (P D) (beta D)
    (fun x => reward D x - l x (anchor D x) - e x) HP H1 Hb) as [V HV].
  unfold apply_once in HV.
  assert (Un : forall V', solves D l e V' -> forall x, (x < states D)%nat -> V' x = V x).
  { intros V' H x Hx.
    apply (fixed_point_unique (states D) (P D) (beta D)
      (fun x => reward D x - l x (anchor D x) - e x) HP H1 Hb); auto.
    intros y Hy. pose proof (H y Hy). unfold apply_once. lra. }
  exists V. split; [| split; [exact Un | split]].
  - intros x Hx. pose proof (HV x Hx). lra.
  - set (q := table (actions D) (fun x k => V x + l x k)).
    assert (Vq : forall x, (x < states D)%nat -> value (actions D) q x = V x).
    { intros x Hx. unfold value, total.
      rewrite (sum_ext _ _ (fun k => exp (V x) * exp (l x k))).
      - rewrite sum_scal, Hl, Rmult_1_r by auto. apply ln_exp.
      - intros k Hk. unfold q. rewrite table_pair by auto. apply exp_plus. }
    intros x Hx. split.
    + unfold residual, PV, ahead.
      rewrite (sum_ext _ _ (fun y => P D x y * V y)) by (intros; rewrite Vq; auto).
      unfold q. rewrite table_pair by (apply anchor_in; auto). pose proof (HV x Hx). lra.
    + intros k Hk. rewrite log_choice, Vq by auto. unfold q. rewrite table_pair by auto. ring.
  - intros q H x Hx.
    assert (Vq : value (actions D) q x = V x).
    { apply (Un (value (actions D) q)); [| auto]. intros y Hy. destruct (H y Hy) as [E L].
      rewrite <- E, <- (L (anchor D y)) by (apply anchor_in; auto). rewrite log_choice by auto.
      unfold residual, PV, ahead. ring. }
    split; [auto |]. intros k Hk. destruct (H x Hx) as [_ L]. pose proof (L k Hk) as Lk.
    rewrite log_choice in Lk by auto. lra.
Qed.

Theorem least_value_holds : least_value.
Proof.
  intros D C S F. split.
  { intros q. pose proof (gap_pos D C S q) as G. unfold gap in G. lra. }
  assert (Fp : forall x k, (x < states D)%nat -> (k < actions D)%nat -> 0 < frequency D x k).
  { intros x k Hx Hk. unfold frequency. apply Rdiv_lt_0_compat; [apply F; auto |].
    apply visits_pos; auto. }
  set (l := fun x k => ln (frequency D x k)).
  assert (Hl : log_choices D l).
  { intros x Hx. rewrite <- (frequency_sum D C S x Hx). apply sum_ext. intros k Hk.
    apply exp_ln. auto. }
  destruct (bijection_of_tables_holds D l (fun _ => 0) C S Hl) as [V [_ [_ [H _]]]].
  set (q := table _ _) in H. exists q.
  assert (Ch : forall x k, (x < states D)%nat -> (k < actions D)%nat ->
    choice (actions D) q x k = frequency D x k).
  { intros x k Hx Hk. destruct (H x Hx) as [_ L]. pose proof (L k Hk) as Lk.
    apply ln_inv; auto. apply choice_pos. apply actions_pos; auto. }
  split.
  - destruct (coordinates_hold D C S q) as [_ E]. rewrite E.
    rewrite (sum_ext _ (fun x => w D x * kl D q x) (fun _ => 0)), sum_const.
    + rewrite (sum_ext _ (fun x => b D x * residual D q x ^ 2) (fun _ => 0)), sum_const;
        [ring |]. intros x Hx. destruct (H x Hx) as [Z _]. rewrite Z. ring.
    + intros x Hx. unfold kl. rewrite (sum_ext _ _ (fun _ => 0)), sum_const; [ring |].
      intros k Hk. rewrite Ch by auto. ring.
  - intros x Hx. split; [destruct (H x Hx); auto | intros; apply Ch; auto].
Qed.

Print Assumptions bijection_of_tables_holds.
Print Assumptions least_value_holds.
