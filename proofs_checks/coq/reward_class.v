(* Theorem 12 of corrected.md: for linear rewards the mean negative log-likelihood is a weighted sum of
   V, and convex where no weight is negative. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors contraction two_time_scales softmax risk gradient level_risk.
Open Scope R_scope.

(* --- statement *)
Section Statement.
Variables (X K d : nat).  (* states, actions, parameters *)
Variable n : nat -> nat -> R.  (* observations of a pair *)
Variable Pt : nat -> nat -> vector.  (* averages over states, for each pair *)
Variable beta : R.
Variable phi : nat -> nat -> vector.

Definition sizes := (0 < X)%nat /\ (0 < K)%nat /\ 0 <= beta < 1.
Definition averages := forall x a, (x < X)%nat -> (a < K)%nat -> sum X (Pt x a) = 1 /\
  forall y, (y < X)%nat -> 0 <= Pt x a y.
(* r_theta, linear in theta; Q = r_theta + beta Pt V_Q *)
Definition r (theta : vector) (x a : nat) := sum d (fun i => theta i * phi x a i).
Definition solves (theta q : vector) := forall x a, (x < X)%nat -> (a < K)%nat ->
  q (pair K x a) = r theta x a + beta * sum X (fun y => Pt x a y * value K q y).

Definition N := sum X (fun x => sum K (n x)).
Definition nll (q : vector) :=
  sum X (fun x => sum K (fun a => n x a * - ln (choice K q x a))) / N.
(* u = w - beta w+ *)
Definition w_plus (t : nat) := sum X (fun x => sum K (fun a => n x a * Pt x a t)) / N.
Definition u (t : nat) := sum K (n t) / N - beta * w_plus t.
Definition mixed (lambda : R) (s t : vector) : vector := fun i => (1 - lambda) * s i + lambda * t i.
End Statement.

Definition theorem_12 := forall X K d n Pt beta phi, sizes X K beta -> averages X K Pt ->
  (forall theta, exists q, solves X K d Pt beta phi theta q) /\
  (forall theta q q', solves X K d Pt beta phi theta q -> solves X K d Pt beta phi theta q' ->
    forall x a, (x < X)%nat -> (a < K)%nat -> q (pair K x a) = q' (pair K x a)) /\
  (forall theta q, 0 < N X K n -> solves X K d Pt beta phi theta q ->
    nll X K n q = sum X (fun s => u X K n Pt beta s * value K q s) -
      sum X (fun x => sum K (fun a => n x a / N X K n * r d phi theta x a))) /\
  (0 < N X K n -> (forall s, (s < X)%nat -> 0 <= u X K n Pt beta s) ->
    forall theta0 theta1 lambda q0 q1 q, 0 <= lambda <= 1 ->
    solves X K d Pt beta phi theta0 q0 -> solves X K d Pt beta phi theta1 q1 ->
    solves X K d Pt beta phi (mixed lambda theta0 theta1) q ->
    nll X K n q <= (1 - lambda) * nll X K n q0 + lambda * nll X K n q1).

(* --- V is monotone, convex and shifts by constants *)
Lemma exp_mono : forall a c, a <= c -> exp a <= exp c.
Proof. intros a c [L | E]; [left; apply exp_increasing; auto | subst; right; auto]. Qed.

Lemma value_mono : forall K q q' x, (0 < K)%nat ->
  (forall k, (k < K)%nat -> q (pair K x k) <= q' (pair K x k)) -> value K q x <= value K q' x.
Proof.
  intros K q q' x HK H. unfold value.
  assert (L : total K q x <= total K q' x) by (apply sum_le; intros; apply exp_mono; auto).
  pose proof (total_pos K q x HK). destruct L as [L | E]; [left; apply ln_increasing; auto |].
  rewrite E. lra.
Qed.

(* Gibbs: V_a is at least the mean of a, plus the entropy, under any choices *)
Lemma gibbs : forall K q a x, (0 < K)%nat ->
  sum K (fun k => choice K q x k * (a (pair K x k) - ln (choice K q x k))) <= value K a x.
Proof.
  intros K q a x HK.
  assert (H : sum K (fun k => choice K q x k *
      (a (pair K x k) - ln (choice K q x k) - value K a x)) <=
    sum K (fun k => choice K a x k + -1 * choice K q x k)).
  { apply sum_le. intros k Hk. pose proof (choice_pos K q x k HK) as P.
    pose proof (choice_pos K a x k HK) as Q.
    assert (R : 0 < choice K a x k / choice K q x k) by (apply Rdiv_lt_0_compat; auto).
    pose proof (ln_below _ R) as L. unfold Rdiv in L at 1.
    rewrite ln_mult, ln_Rinv in L by (auto using Rinv_0_lt_compat).
    rewrite (log_choice K a) in L by auto.
    assert (E : choice K q x k * (choice K a x k / choice K q x k) = choice K a x k)
      by (field; lra). nra. }
  rewrite sum_plus, sum_scal, !choice_sum in H by auto.
  rewrite (sum_ext K _ (fun k => choice K q x k * (a (pair K x k) - ln (choice K q x k)) +
    - value K a x * choice K q x k)) in H by (intros; ring).
  rewrite sum_plus, sum_scal, choice_sum in H by auto. lra.
Qed.

Lemma value_convex : forall K q0 q1 lambda x, (0 < K)%nat -> 0 <= lambda <= 1 ->
  value K (mixed lambda q0 q1) x <= (1 - lambda) * value K q0 x + lambda * value K q1 x.
Proof.
  intros K q0 q1 lambda x HK Hl. set (q := mixed lambda q0 q1).
  assert (E : value K q x = (1 - lambda) *
      sum K (fun k => choice K q x k * (q0 (pair K x k) - ln (choice K q x k))) +
    lambda * sum K (fun k => choice K q x k * (q1 (pair K x k) - ln (choice K q x k)))).
  { rewrite <- !sum_scal, <- sum_plus.
    rewrite (sum_ext K _ (fun k => value K q x * choice K q x k)).
    - rewrite sum_scal, choice_sum by auto. ring.
    - intros k Hk. rewrite log_choice by auto.
      assert (Eq : q (pair K x k) = (1 - lambda) * q0 (pair K x k) + lambda * q1 (pair K x k))
        by reflexivity. rewrite Eq. ring. }
  rewrite E. pose proof (gibbs K q q0 x HK). pose proof (gibbs K q q1 x HK).
  apply Rplus_le_compat; apply Rmult_le_compat_l; lra.
Qed.

Section Proof.
Variables (X K d : nat) (n : nat -> nat -> R) (Pt : nat -> nat -> vector) (beta : R).
Variable phi : nat -> nat -> vector.
Hypothesis Sz : sizes X K beta.
Hypothesis Av : averages X K Pt.

Lemma HK : (0 < K)%nat.
Proof. apply Sz. Qed.
Lemma Hb : 0 <= beta < 1.
Proof. apply Sz. Qed.

(* the table of values ahead, and the operator on V *)
Definition table_of (theta V : vector) : vector := table K (fun x a =>
  r d phi theta x a + beta * sum X (fun y => Pt x a y * V y)).
Definition operator (theta V : vector) : vector := fun x => value K (table_of theta V) x.

Lemma mean_below : forall V W M x a, (x < X)%nat -> (a < K)%nat ->
  (forall y, (y < X)%nat -> V y <= W y + M) ->
  sum X (fun y => Pt x a y * V y) <= sum X (fun y => Pt x a y * W y) + M.
Proof.
  intros V W M x a Hx Ha H. destruct (Av x a Hx Ha) as [S1 Sp].
  apply Rle_trans with (sum X (fun y => Pt x a y * W y + M * Pt x a y)).
  - apply sum_le. intros y Hy. pose proof (H y Hy). pose proof (Sp y Hy). nra.
  - rewrite sum_plus, sum_scal, S1. lra.
Qed.

Lemma operator_below : forall theta V W M, (forall y, (y < X)%nat -> V y <= W y + M) ->
  forall x, (x < X)%nat -> operator theta V x <= operator theta W x + beta * M.
Proof.
  intros theta V W M H x Hx. unfold operator. rewrite <- value_shift by apply HK.
  apply value_mono; [apply HK |]. intros k Hk. unfold shifted, table_of.
  rewrite !table_pair by auto. pose proof (mean_below V W M x k Hx Hk H). pose proof Hb. nra.
Qed.

Lemma operator_contracts : forall theta, contracts X (operator theta) beta.
Proof.
  intros theta. split; [apply Hb |]. intros V W M H x Hx.
  assert (A : forall y, (y < X)%nat -> V y <= W y + M).
  { intros y Hy. pose proof (H y Hy). pose proof (Rle_abs (V y - W y)). lra. }
  assert (B : forall y, (y < X)%nat -> W y <= V y + M).
  { intros y Hy. pose proof (H y Hy). pose proof (Rle_abs (- (V y - W y))).
    rewrite Rabs_Ropp in H1. lra. }
  pose proof (operator_below theta V W M A x Hx). pose proof (operator_below theta W V M B x Hx).
  apply Rabs_le. lra.
Qed.

Lemma value_local : forall q q' x, (forall k, (k < K)%nat -> q (pair K x k) = q' (pair K x k)) ->
  value K q x = value K q' x.
Proof. intros. unfold value, total. f_equal. apply sum_ext. intros. rewrite H; auto. Qed.

Lemma solution_fixed : forall theta q, solves X K d Pt beta phi theta q ->
  fixed X (operator theta) (value K q).
Proof.
  intros theta q H x Hx. unfold operator. apply value_local. intros k Hk. unfold table_of.
  rewrite table_pair, H by auto. reflexivity.
Qed.

Lemma solution_exists : forall theta, exists q, solves X K d Pt beta phi theta q.
Proof.
  intros theta. destruct (one_fixed_point_holds X _ beta (operator_contracts theta)) as [[V HV] _].
  exists (table_of theta V). intros x a Hx Ha. unfold table_of at 1. rewrite table_pair by auto.
  f_equal. f_equal. apply sum_ext. intros y Hy. rewrite (HV y Hy) at 1. reflexivity.
Qed.

Lemma solution_unique : forall theta q q', solves X K d Pt beta phi theta q ->
  solves X K d Pt beta phi theta q' -> forall x a, (x < X)%nat -> (a < K)%nat ->
  q (pair K x a) = q' (pair K x a).
Proof.
  intros theta q q' H H' x a Hx Ha. rewrite H, H' by auto. f_equal. f_equal. apply sum_ext.
  intros y Hy. f_equal.
  destruct (one_fixed_point_holds X _ beta (operator_contracts theta)) as [_ U].
  apply (U (value K q) (value K q')); auto using solution_fixed.
Qed.

(* a V that the operator does not raise is above the fixed point *)
Lemma comparison : forall theta V W, fixed X (operator theta) V ->
  (forall x, (x < X)%nat -> operator theta W x <= W x) ->
  forall x, (x < X)%nat -> V x <= W x.
Proof.
  intros theta V W HV HW. set (M := sum X (fun x => Rabs (V x - W x))).
  assert (B : forall t x, (x < X)%nat -> V x <= W x + beta ^ t * M).
  { induction t; intros x Hx; simpl pow.
    - pose proof (near_sum X V W x Hx) as Q. fold M in Q. pose proof (Rle_abs (V x - W x)). lra.
    - rewrite HV by auto. pose proof (operator_below theta V W _ IHt x Hx). pose proof (HW x Hx).
      lra. }
  intros x Hx. destruct (Rle_lt_dec (V x) (W x)) as [| L]; auto. exfalso.
  destruct (powers_vanish beta Hb M (V x - W x) ltac:(lra)) as [t Ht].
  specialize (Ht t (le_n t)). pose proof (B t x Hx). lra.
Qed.

Lemma r_mixed : forall lambda s t x a, r d phi (mixed lambda s t) x a =
  (1 - lambda) * r d phi s x a + lambda * r d phi t x a.
Proof.
  intros. unfold r. rewrite <- !sum_scal, <- sum_plus. apply sum_ext. intros. unfold mixed. ring.
Qed.

Lemma value_convex_in_theta : forall theta0 theta1 lambda q0 q1 q, 0 <= lambda <= 1 ->
  solves X K d Pt beta phi theta0 q0 -> solves X K d Pt beta phi theta1 q1 ->
  solves X K d Pt beta phi (mixed lambda theta0 theta1) q -> forall x, (x < X)%nat ->
  value K q x <= (1 - lambda) * value K q0 x + lambda * value K q1 x.
Proof.
  intros theta0 theta1 lambda q0 q1 q Hl H0 H1 H.
  apply (comparison (mixed lambda theta0 theta1) (value K q)
    (fun x => (1 - lambda) * value K q0 x + lambda * value K q1 x)); [apply solution_fixed; auto |].
  intros x Hx. eapply Rle_trans; [| apply value_convex; [apply HK | auto]].
  right. unfold operator. apply value_local. intros k Hk. unfold table_of.
  rewrite table_pair, r_mixed by auto. unfold mixed. rewrite H0, H1 by auto.
  rewrite (sum_ext X (fun y => Pt x k y * (_ + _)) (fun y =>
    (1 - lambda) * (Pt x k y * value K q0 y) + lambda * (Pt x k y * value K q1 y)))
    by (intros; ring).
  rewrite sum_plus, !sum_scal. ring.
Qed.

Lemma nll_is : forall theta q, 0 < N X K n -> solves X K d Pt beta phi theta q ->
  nll X K n q = sum X (fun s => u X K n Pt beta s * value K q s) -
    sum X (fun x => sum K (fun a => n x a / N X K n * r d phi theta x a)).
Proof.
  intros theta q HN H. set (M := N X K n) in *. unfold nll. fold M.
  rewrite (sum2_ext X K _ (fun x a => n x a * value K q x +
    (- (n x a * r d phi theta x a) + - beta * sum X (fun y => n x a * Pt x a y * value K q y)))).
  2: { intros x a Hx Ha. rewrite log_choice, H by (auto using HK).
    rewrite (sum_ext X (fun y => n x a * Pt x a y * value K q y)
      (fun y => n x a * (Pt x a y * value K q y))) by (intros; ring). rewrite sum_scal. ring. }
  rewrite !sum2_plus, sum2_scal.
  assert (E1 : sum X (fun x => sum K (fun a => n x a * value K q x)) =
    sum X (fun x => sum K (n x) * value K q x)).
  { apply sum_ext. intros x _. rewrite (sum_ext K _ (fun a => value K q x * n x a))
      by (intros; ring). rewrite sum_scal. ring. }
  assert (E2 : sum X (fun x => sum K (fun a => sum X (fun y => n x a * Pt x a y * value K q y))) =
    sum X (fun y => M * w_plus X K n Pt y * value K q y)).
  { rewrite (sum_ext X _ (fun x => sum X (fun y => sum K (fun a => n x a * Pt x a y * value K q y))))
      by (intros; apply sum_swap).
    rewrite sum_swap. apply sum_ext. intros y _. unfold w_plus. fold M.
    rewrite (sum2_ext X K (fun x a => n x a * Pt x a y * value K q y)
      (fun x a => value K q y * (n x a * Pt x a y))) by (intros; ring).
    rewrite sum2_scal. field. lra. }
  rewrite E1, E2.
  assert (E3 : sum X (fun x => sum K (fun a => - (n x a * r d phi theta x a))) =
    - M * sum X (fun x => sum K (fun a => n x a / M * r d phi theta x a))).
  { rewrite <- sum2_scal. apply sum2_ext. intros. field. lra. }
  rewrite E3.
  assert (E4 : sum X (fun s => u X K n Pt beta s * value K q s) = / M *
      sum X (fun x => sum K (n x) * value K q x) +
    - beta / M * sum X (fun y => M * w_plus X K n Pt y * value K q y)).
  { rewrite <- !sum_scal, <- sum_plus. apply sum_ext. intros. unfold u. fold M. field. lra. }
  rewrite E4. field. lra.
Qed.

Lemma nll_convex : 0 < N X K n -> (forall s, (s < X)%nat -> 0 <= u X K n Pt beta s) ->
  forall theta0 theta1 lambda q0 q1 q, 0 <= lambda <= 1 ->
  solves X K d Pt beta phi theta0 q0 -> solves X K d Pt beta phi theta1 q1 ->
  solves X K d Pt beta phi (mixed lambda theta0 theta1) q ->
  nll X K n q <= (1 - lambda) * nll X K n q0 + lambda * nll X K n q1.
Proof.
  intros HN U theta0 theta1 lambda q0 q1 q Hl H0 H1 H.
  rewrite (nll_is _ _ HN H), (nll_is _ _ HN H0), (nll_is _ _ HN H1).
  assert (A : sum X (fun s => u X K n Pt beta s * value K q s) <=
    (1 - lambda) * sum X (fun s => u X K n Pt beta s * value K q0 s) +
    lambda * sum X (fun s => u X K n Pt beta s * value K q1 s)).
  { rewrite <- !sum_scal, <- sum_plus. apply sum_le. intros s Hs. pose proof (U s Hs).
    pose proof (value_convex_in_theta theta0 theta1 lambda q0 q1 q Hl H0 H1 H s Hs). nra. }
  assert (B : sum X (fun x => sum K (fun a => n x a / N X K n *
      r d phi (mixed lambda theta0 theta1) x a)) =
    (1 - lambda) * sum X (fun x => sum K (fun a => n x a / N X K n * r d phi theta0 x a)) +
    lambda * sum X (fun x => sum K (fun a => n x a / N X K n * r d phi theta1 x a))).
  { rewrite <- !sum2_scal, <- sum2_plus. apply sum2_ext. intros. rewrite r_mixed. ring. }
  rewrite B. lra.
Qed.
End Proof.

Theorem theorem_12_holds : theorem_12.
Proof.
  intros X K d n Pt beta phi Sz Av. split; [| split; [| split]].
  - apply solution_exists; auto.
  - intros theta q q'. apply solution_unique; auto.
  - intros theta q. apply nll_is; auto.
  - apply nll_convex; auto.
Qed.

Print Assumptions theorem_12_holds.
