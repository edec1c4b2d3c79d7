(* The rest of Theorem 1 of corrected.md: (l, e) are coordinates of tables, and entropy is the least
   value of g. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient pl.
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

Lemma powers_vanish : forall M eps, 0 < eps -> exists T, forall t, (T <= t)%nat -> beta ^ t * M < eps.
Proof.
  intros M eps He. pose proof (Rabs_pos M) as Hm.
  destruct (pow_lt_1_zero beta ltac:(rewrite Rabs_pos_eq; lra) (eps / (Rabs M + 1))) as [T H].
  { apply Rdiv_lt_0_compat; lra. }
  exists T. intros t Ht. specialize (H t Ht). rewrite Rabs_pos_eq in H by (apply pow_le; lra).
  assert (E : eps / (Rabs M + 1) * (Rabs M + 1) = eps) by (field; lra).
  pose proof (Rle_abs M). pose proof (pow_le beta t (proj1 Hb)). nra.
Qed.

Lemma fixed_point_unique : forall d, (forall x, (x < n)%nat -> d x = apply_once d x) ->
  forall x, (x < n)%nat -> d x = 0.
Proof.
  intros d H. set (M := sum n (fun x => Rabs (d x))).
  assert (B : forall t x, (x < n)%nat -> Rabs (d x) <= beta ^ t * M).
  { induction t; intros x Hx; simpl.
    - rewrite Rmult_1_l. apply (sum_term n (fun x => Rabs (d x))); [intros; apply Rabs_pos | auto].
    - rewrite H by auto. rewrite Rmult_assoc. apply contraction; auto. }
  intros x Hx. destruct (Req_dec (d x) 0) as [| Z]; auto. exfalso.
  destruct (powers_vanish M (Rabs (d x)) (Rabs_pos_lt _ Z)) as [T HT].
  specialize (HT T (le_n T)). pose proof (B T x Hx). lra.
Qed.

Fixpoint iterated (t : nat) : vector :=
  match t with O => fun _ => 0 | S k => fun x => c x + apply_once (iterated k) x end.

Lemma apply_less : forall V U x, apply_once V x - apply_once U x = apply_once (less V U) x.
Proof.
  intros. unfold apply_once, less.
  rewrite (sum_ext n (fun y => P x y * (V y - U y)) (fun y => P x y * V y + -1 * (P x y * U y)))
    by (intros; ring).
  rewrite sum_plus, sum_scal. ring.
Qed.

Let M := sum n (fun x => Rabs (c x)).

Lemma iterated_step : forall t x, (x < n)%nat ->
  Rabs (iterated (S t) x - iterated t x) <= beta ^ t * M.
Proof.
  induction t; intros x Hx.
  - simpl. unfold apply_once. rewrite (sum_ext n _ (fun _ => 0)), sum_const by (intros; ring).
    replace (c x + beta * (INR n * 0) - 0) with (c x) by ring. rewrite Rmult_1_l.
    apply (sum_term n (fun x => Rabs (c x))); [intros; apply Rabs_pos | auto].
  - change (iterated (S (S t)) x) with (c x + apply_once (iterated (S t)) x).
    change (iterated (S t) x) with (c x + apply_once (iterated t) x).
    replace (c x + apply_once (iterated (S t)) x - (c x + apply_once (iterated t) x))
      with (apply_once (iterated (S t)) x - apply_once (iterated t) x) by ring.
    rewrite apply_less. simpl pow. rewrite Rmult_assoc. apply contraction; auto.
Qed.

Lemma iterated_far : forall s t x, (x < n)%nat ->
  Rabs (iterated (t + s) x - iterated t x) <= beta ^ t * (M / (1 - beta)).
Proof.
  intros s t x Hx.
  assert (M0 : 0 <= M) by (apply sum_pos; intros; apply Rabs_pos).
  assert (G : Rabs (iterated (t + s) x - iterated t x) <=
    beta ^ t * (M / (1 - beta)) * (1 - beta ^ s)).
  { induction s.
    - rewrite Nat.add_0_r, Rminus_diag_eq, Rabs_R0 by auto. simpl. lra.
    - replace (iterated (t + S s) x - iterated t x) with
        ((iterated (S (t + s)) x - iterated (t + s) x) + (iterated (t + s) x - iterated t x))
        by (rewrite Nat.add_succ_r; ring).
      eapply Rle_trans; [apply Rabs_triang |].
      eapply Rle_trans; [apply Rplus_le_compat; [apply iterated_step; auto | exact IHs] |].
      right. rewrite pow_add. simpl. field. lra. }
  pose proof (pow_le beta s (proj1 Hb)). pose proof (pow_le beta t (proj1 Hb)).
  assert (0 <= beta ^ t * (M / (1 - beta))).
  { apply Rmult_le_pos; auto. unfold Rdiv. apply Rmult_le_pos; auto. left.
    apply Rinv_0_lt_compat. lra. }
  nra.
Qed.

Lemma converges : forall x, { l | (x < n)%nat -> Un_cv (fun t => iterated t x) l }.
Proof.
  intros x. destruct (lt_dec x n) as [Hx | Hx]; [| exists 0; intros; lia].
  destruct (R_complete (fun t => iterated t x)) as [l Hl]; [| exists l; auto].
  intros eps He. destruct (powers_vanish (M / (1 - beta)) eps He) as [T HT].
  exists T. intros a a' Ha Ha'. unfold R_dist.
  destruct (le_lt_dec a' a) as [L | L].
  - replace a with (a' + (a - a'))%nat by lia.
    eapply Rle_lt_trans; [apply iterated_far; auto | apply HT; auto].
  - rewrite Rabs_minus_sym. replace a' with (a + (a' - a))%nat by lia.
    eapply Rle_lt_trans; [apply iterated_far; auto | apply HT; auto].
Qed.

Lemma sum_converges : forall m (u : nat -> vector) l a, (m <= n)%nat ->
  (forall y, (y < m)%nat -> Un_cv (fun t => u t y) (l y)) ->
  Un_cv (fun t => sum m (fun y => a y * u t y)) (sum m (fun y => a y * l y)).
Proof.
  induction m; intros u l a Hm H; simpl.
  - intros eps He. exists O. intros. unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0; auto.
  - apply CV_plus; [apply IHm; [lia | auto] |].
    apply (CV_mult (fun _ => a m) (fun t => u t m)); [| apply H; auto].
    intros eps He. exists O. intros. unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0; auto.
Qed.

Lemma fixed_point : exists V, forall x, (x < n)%nat -> V x = c x + apply_once V x.
Proof.
  exists (fun x => proj1_sig (converges x)). intros x Hx.
  set (V := fun x => proj1_sig (converges x)).
  assert (L : forall y, (y < n)%nat -> Un_cv (fun t => iterated t y) (V y))
    by (intros y Hy; exact (proj2_sig (converges y) Hy)).
  apply (UL_sequence (fun t => iterated (S t) x)).
  - intros eps He. destruct (L x Hx eps He) as [T HT]. exists T. intros. apply HT. lia.
  - simpl. apply CV_plus.
    + intros eps He. exists O. intros. unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0; auto.
    + unfold apply_once. apply (CV_mult (fun _ => beta)).
      * intros eps He. exists O. intros. unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0; auto.
      * apply (sum_converges n iterated V (P x)); auto.
Qed.
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
    assert (Z : less V' V x = 0); [| unfold less in Z; lra].
    apply (fixed_point_unique (states D) (P D) (beta D) HP H1 Hb); [| auto].
    intros y Hy. rewrite <- apply_less. unfold apply_once, less.
    pose proof (H y Hy). pose proof (HV y Hy). lra. }
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
