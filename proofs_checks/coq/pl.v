(* Theorem 4 of corrected.md: the paper's profile g satisfies a PL inequality below every level, with
   the constant stated there. Theorem 5: with zeta exact, gradient descent converges linearly. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient.
Open Scope R_scope.

(* --- statements *)
Section Constant.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).

(* |t|^2 in the inverse of a metric m over pairs *)
Definition size (m : vector) (t : nat -> nat -> R) :=
  sum X (fun x => sum K (fun k => t x k ^ 2 / m (pair K x k))).

(* alpha_x(delta) is positive and at most |p - pi|^2 / (2 KL) wherever KL <= delta *)
Definition factor (alpha : nat -> R -> R) := forall x delta, (x < X)%nat -> 0 <= delta ->
  0 < alpha x delta /\ forall q, kl D q x <= delta ->
  2 * alpha x delta * kl D q x <= sum K (fun k => (choice K q x k - frequency D x k) ^ 2).

(* y' D y for y = (u, eps), with multipliers mult at the shares s of the level Delta *)
Definition weighed (alpha : nat -> R -> R) (Delta : R) (s mult : vector) u (eps : vector) :=
  sum X (fun x => (1 + mult x) / (w D x * alpha x (s x * Delta / w D x)) *
    sum K (fun k => u x k ^ 2)) + sum X (fun x => eps x ^ 2 / (2 * b D x)).

(* c is at most inf_s sup_mult inf_p (1 + s'mult) lambda_min(D^-1/2 G G' D^-1/2), in the metric m:
   for all shares s, and up to any slack, there are multipliers with which
   (1 + s'mult) |G'y|^2 >= c y'Dy, for all y and all choices with KL_x <= s_x Delta / w_x. *)
Definition pl_constant (alpha : nat -> R -> R) (m : vector) (Delta c : R) :=
  forall s, (forall x, (x < X)%nat -> 0 <= s x) -> sum X s <= 1 -> forall slack, 0 < slack ->
  exists mult, (forall x, (x < X)%nat -> 0 <= mult x) /\
  forall q, (forall x, (x < X)%nat -> kl D q x <= s x * Delta / w D x) ->
  forall u eps, (forall x, (x < X)%nat -> sum K (u x) = 0) ->
  (1 + sum X (fun x => s x * mult x)) * size m (pull D q u eps) >=
  (c - slack) * weighed alpha Delta s mult u eps.
End Constant.

(* For tables, in any diagonal metric. That entropy is g*, the least value of g over all tables, is
   in least.v. *)
Definition pl_of_tables := forall D alpha m Delta c, counts D -> condition_S D -> factor D alpha ->
  (forall x k, (x < states D)%nat -> (k < actions D)%nat -> 0 < m (pair (actions D) x k)) ->
  pl_constant D alpha m Delta c ->
  forall q, g D q - entropy D <= Delta ->
  size D m (slope_g D q) / 2 >= c * (g D q - entropy D).

(* Outputs of n parameters, with Jacobian J, whose square J J' is at least mu at theta. *)
Definition jacobian (outputs : vector -> vector) (n : nat) (J : vector -> nat -> vector) :=
  forall theta p s i, derivable_pt_lim (fun s => outputs (along theta p s) i) s
    (sum n (fun d => J (along theta p s) d i * p d)).
Definition conditioned (pairs n : nat) (J : vector -> nat -> vector) (mu : R) (theta : vector) :=
  forall v, sum n (fun d => sum pairs (fun i => J theta d i * v i) ^ 2) >=
    mu * sum pairs (fun i => v i ^ 2).
(* J' G' y, the gradient in theta *)
Definition gradient_in_theta (D : data) (outputs : vector -> vector) (J : vector -> nat -> vector)
  (theta : vector) : vector := fun d => sum (states D * actions D) (fun i =>
    J theta d i * table (actions D) (slope_g D (outputs theta)) i).
Definition constant_one : vector := fun _ => 1.

Definition theorem_4 := forall D alpha Delta c n outputs J mu,
  counts D -> condition_S D -> factor D alpha -> pl_constant D alpha constant_one Delta c ->
  jacobian outputs n J -> 0 <= mu ->
  let risk := fun theta => g D (outputs theta) in
  let G := gradient_in_theta D outputs J in
  gradient_of_g n constant_one risk G /\
  forall theta, conditioned (states D * actions D) n J mu theta -> risk theta - entropy D <= Delta ->
    dot n constant_one (G theta) (G theta) / 2 >= mu * c * (risk theta - entropy D).

Definition theorem_5 := forall D alpha c n outputs J mu L theta,
  counts D -> condition_S D -> factor D alpha ->
  let risk := fun theta => g D (outputs theta) in
  let G := gradient_in_theta D outputs J in
  pl_constant D alpha constant_one (risk theta - entropy D) c ->
  jacobian outputs n J -> 0 <= mu ->
  (forall t, risk t <= risk theta -> conditioned (states D * actions D) n J mu t) ->
  smooth n constant_one risk L (risk theta) G -> 0 < L ->
  forall t, risk (iterate L G theta t) - entropy D <=
    (1 - mu * c / L) ^ t * (risk theta - entropy D).

(* --- proofs *)
Section Proof.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).
Hypothesis C : counts D.
Hypothesis S : condition_S D.

Definition gap (q : vector) := g D q - entropy D.

Lemma gap_is : forall q, gap q =
  sum X (fun x => w D x * kl D q x) + sum X (fun x => b D x * residual D q x ^ 2).
Proof. intros. unfold gap. destruct (coordinates_hold D C S q) as [_ E]. rewrite E. ring. Qed.

Lemma kl_part_pos : forall q, 0 <= sum X (fun x => w D x * kl D q x).
Proof.
  intros. apply sum_pos. intros. apply Rmult_le_pos; [apply w_nonneg | apply kl_nonneg]; auto.
Qed.

Lemma be_part_pos : forall q, 0 <= sum X (fun x => b D x * residual D q x ^ 2).
Proof.
  intros. apply sum_pos. intros. apply Rmult_le_pos; [apply b_nonneg; auto | apply pow2_ge_0].
Qed.

Lemma gap_pos : forall q, 0 <= gap q.
Proof. intros. rewrite gap_is. pose proof (kl_part_pos q). pose proof (be_part_pos q). lra. Qed.

Lemma size_pos : forall m t,
  (forall x k, (x < X)%nat -> (k < K)%nat -> 0 < m (pair K x k)) -> 0 <= size D m t.
Proof.
  intros m t H. apply sum_pos. intros x Hx. apply sum_pos. intros k Hk. unfold Rdiv.
  apply Rmult_le_pos; [apply pow2_ge_0 | left; apply Rinv_0_lt_compat; auto].
Qed.

Lemma slope_h_sum : forall q x, (x < X)%nat -> sum K (slope_h D q x) = 0.
Proof.
  intros q x Hx. unfold slope_h.
  rewrite (sum_ext K _ (fun k => w D x * choice K q x k + - w D x * frequency D x k))
    by (intros; ring).
  rewrite sum_plus, !sum_scal, choice_sum, frequency_sum by (auto; apply actions_pos; auto). ring.
Qed.

(* (1/2) y'Dy is at least g - g* and the multiples of KL *)
Lemma weighed_below : forall alpha Delta mult q, factor D alpha -> 0 < Delta ->
  (forall x, (x < X)%nat -> 0 <= mult x) ->
  let s := fun x => w D x * kl D q x / Delta in
  weighed D alpha Delta s mult (slope_h D q) (slope_e D q) >=
  2 * (gap q + Delta * sum X (fun x => s x * mult x)).
Proof.
  intros alpha Delta mult q A HD M s. rewrite gap_is. unfold weighed.
  assert (E : sum X (fun x => slope_e D q x ^ 2 / (2 * b D x)) =
    2 * sum X (fun x => b D x * residual D q x ^ 2)).
  { rewrite <- sum_scal. apply sum_ext. intros x Hx. pose proof (b_pos D C S x Hx).
    unfold slope_e. field. lra. }
  rewrite E.
  assert (H : sum X (fun x => 2 * (w D x * kl D q x + Delta * (s x * mult x))) <=
    sum X (fun x => (1 + mult x) / (w D x * alpha x (s x * Delta / w D x)) *
      sum K (fun k => slope_h D q x k ^ 2))).
  { apply sum_le. intros x Hx. pose proof (w_pos D C S x Hx) as Wx.
    assert (Sx : s x * Delta / w D x = kl D q x) by (unfold s; field; lra). rewrite Sx.
    destruct (A x (kl D q x) Hx (kl_nonneg D C S q x Hx)) as [Ap Al].
    specialize (Al q (Rle_refl _)). set (a := alpha x (kl D q x)) in *.
    rewrite (sum_ext K _ (fun k => w D x ^ 2 * (choice K q x k - frequency D x k) ^ 2))
      by (intros; unfold slope_h; ring).
    rewrite sum_scal. set (t := sum K _) in *.
    assert (E2 : Delta * (s x * mult x) = w D x * kl D q x * mult x) by (unfold s; field; lra).
    rewrite E2.
    replace (2 * (w D x * kl D q x + w D x * kl D q x * mult x)) with
      ((1 + mult x) / (w D x * a) * (w D x ^ 2 * (2 * a * kl D q x))) by (field; lra).
    apply Rmult_le_compat_l.
    - pose proof (M x Hx). unfold Rdiv. apply Rmult_le_pos; [lra |]. left.
      apply Rinv_0_lt_compat. apply Rmult_lt_0_compat; auto.
    - apply Rmult_le_compat_l; [apply pow2_ge_0 | auto]. }
  rewrite sum_scal, sum_plus, sum_scal in H. lra.
Qed.

Lemma up_to_slack : forall c x y, 0 <= x -> (forall slack, 0 < slack -> (c - slack) * x <= y) ->
  c * x <= y.
Proof.
  intros c x y Hx H. destruct (Rle_lt_dec (c * x) y) as [| Z]; auto. exfalso.
  assert (P : 0 < (c * x - y) / (x + 1)) by (apply Rdiv_lt_0_compat; lra).
  specialize (H _ P). set (e := (c * x - y) / (x + 1)) in *.
  assert (E : e * (x + 1) = c * x - y) by (unfold e; field; lra). nra.
Qed.

Lemma pl_holds : forall alpha m Delta c, factor D alpha ->
  (forall x k, (x < X)%nat -> (k < K)%nat -> 0 < m (pair K x k)) ->
  pl_constant D alpha m Delta c ->
  forall q, gap q <= Delta -> size D m (slope_g D q) / 2 >= c * gap q.
Proof.
  intros alpha m Delta c A Hm H q Hq. pose proof (gap_pos q) as G0.
  pose proof (size_pos m (slope_g D q) Hm) as S0. apply Rle_ge.
  destruct (Req_dec (gap q) 0) as [Z | Z]; [rewrite Z; lra |].
  assert (HD : 0 < Delta) by lra.
  apply up_to_slack; [auto |]. intros slack Hs.
  destruct (Rle_lt_dec 0 (c - slack)) as [P | P]; [| nra].
  set (s := fun x => w D x * kl D q x / Delta).
  assert (Sp : forall x, (x < X)%nat -> 0 <= s x).
  { intros x Hx. unfold s, Rdiv. apply Rmult_le_pos.
    - apply Rmult_le_pos; [apply w_nonneg | apply kl_nonneg]; auto.
    - left. apply Rinv_0_lt_compat. auto. }
  assert (S1 : sum X s <= 1).
  { unfold s. rewrite (sum_ext X _ (fun x => / Delta * (w D x * kl D q x)))
      by (intros; unfold Rdiv; ring).
    rewrite sum_scal. apply Rmult_le_reg_l with Delta; [auto |].
    rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l, Rmult_1_r by lra.
    rewrite gap_is in Hq. pose proof (be_part_pos q). lra. }
  destruct (H s Sp S1 slack Hs) as [mult [Mp Hc]].
  assert (W0 : forall x, (x < X)%nat -> kl D q x <= s x * Delta / w D x).
  { intros x Hx. pose proof (w_pos D C S x Hx). right. unfold s. field. lra. }
  specialize (Hc q W0 (slope_h D q) (slope_e D q) (fun x Hx => slope_h_sum q x Hx)).
  fold (slope_g D q) in Hc.
  pose proof (weighed_below alpha Delta mult q A HD Mp) as B. cbv zeta in B. fold s in B.
  set (T := sum X (fun x => s x * mult x)) in *.
  assert (T0 : 0 <= T) by (apply sum_pos; intros; apply Rmult_le_pos; auto).
  assert (B2 : weighed D alpha Delta s mult (slope_h D q) (slope_e D q) >= 2 * gap q * (1 + T))
    by nra.
  set (Y := weighed _ _ _ _ _ _ _) in *.
  assert (B3 : (c - slack) * Y >= (c - slack) * (2 * gap q * (1 + T)))
    by (apply Rmult_ge_compat_l; lra).
  apply Rmult_le_reg_l with (2 * (1 + T)); [lra |]. lra.
Qed.

Lemma theta_gradient : forall n outputs J, jacobian outputs n J ->
  gradient_of_g n constant_one (fun theta => g D (outputs theta))
    (gradient_in_theta D outputs J).
Proof.
  intros n outputs J HJ theta p s.
  pose proof (g_curve D C S (fun s => outputs (along theta p s)) _ s (HJ theta p s)) as H.
  cbv beta in H.
  assert (E : sum X (fun x => sum K (fun k => slope_g D (outputs (along theta p s)) x k *
      sum n (fun d => J (along theta p s) d (pair K x k) * p d))) =
    dot n constant_one (gradient_in_theta D outputs J (along theta p s)) p); [| rewrite <- E; exact H].
  rewrite dot_sum. unfold gradient_in_theta, constant_one.
  set (o := outputs (along theta p s)). set (Jt := J (along theta p s)).
  rewrite (sum2_ext X K _ (fun x k => table K (slope_g D o) (pair K x k) *
    sum n (fun d => Jt d (pair K x k) * p d))) by (intros; rewrite table_pair; auto).
  rewrite <- (sum_pairs X K (fun i => table K (slope_g D o) i * sum n (fun d => Jt d i * p d))).
  rewrite (sum_ext (X * K) _ (fun i => sum n (fun d => p d * (Jt d i * table K (slope_g D o) i)))).
  - rewrite sum_swap. apply sum_ext. intros d _. rewrite sum_scal. ring.
  - intros i _. rewrite <- sum_scal. apply sum_ext. intros. ring.
Qed.

Lemma theta_pl : forall alpha Delta c n outputs J mu theta, factor D alpha ->
  pl_constant D alpha constant_one Delta c -> 0 <= mu -> conditioned (X * K) n J mu theta ->
  gap (outputs theta) <= Delta ->
  let G := gradient_in_theta D outputs J theta in
  dot n constant_one G G / 2 >= mu * c * gap (outputs theta).
Proof.
  intros alpha Delta c n outputs J mu theta A H Hmu HJ Hq G.
  assert (P : forall x k, (x < X)%nat -> (k < K)%nat -> 0 < constant_one (pair K x k))
    by (intros; unfold constant_one; lra).
  pose proof (pl_holds alpha constant_one Delta c A P H (outputs theta) Hq) as B.
  pose proof (HJ (table K (slope_g D (outputs theta)))) as B2.
  assert (E1 : dot n constant_one G G = sum n (fun d => sum (X * K) (fun i =>
    J theta d i * table K (slope_g D (outputs theta)) i) ^ 2)).
  { rewrite dot_sum. apply sum_ext. intros. unfold constant_one, G, gradient_in_theta. ring. }
  assert (E2 : size D constant_one (slope_g D (outputs theta)) =
    sum (X * K) (fun i => table K (slope_g D (outputs theta)) i ^ 2)).
  { rewrite sum_pairs. apply sum2_ext. intros. rewrite table_pair by auto.
    unfold constant_one. field. }
  rewrite E1. rewrite E2 in B. set (t := sum (X * K) _) in *.
  assert (mu * (t / 2) >= mu * (c * gap (outputs theta))) by (apply Rmult_ge_compat_l; lra).
  lra.
Qed.
End Proof.

Theorem pl_of_tables_holds : pl_of_tables.
Proof. intros D alpha m Delta c C S A Hm H q Hq. apply (pl_holds D C S alpha m Delta c); auto. Qed.

Theorem theorem_4_holds : theorem_4.
Proof.
  intros D alpha Delta c n outputs J mu C S A H HJ Hmu risk G. split.
  - apply theta_gradient; auto.
  - intros theta Co Hq. apply (theta_pl D C S alpha Delta); auto.
Qed.

Theorem theorem_5_holds : theorem_5.
Proof.
  intros D alpha c n outputs J mu L theta C S A risk G H HJ Hmu Co Sm HL.
  apply (zeta_exact_holds n constant_one risk G (entropy D) L (mu * c) theta); auto.
  - intros. unfold constant_one. lra.
  - apply theta_gradient; auto.
  - intros t Ht. unfold G. apply (theta_pl D C S alpha (risk theta - entropy D)); auto.
    unfold gap. fold (risk t). lra.
  - intros t. pose proof (gap_pos D C S (outputs t)) as P. unfold gap in P. unfold risk. lra.
Qed.

Print Assumptions pl_of_tables_holds.
Print Assumptions theorem_4_holds.
Print Assumptions theorem_5_holds.
