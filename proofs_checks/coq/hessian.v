(* Theorem 8 of corrected.md: the Hessian of g at its minimiser, off the constants, after a minimum over
   a common shift. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient pl smoothness least level_risk identification.
Open Scope R_scope.

(* --- statement *)
Section Statement.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).

(* the mean of u under the frequencies, and how e moves along u at the minimiser *)
Definition mean_of (u : vector) (x : nat) := sum K (fun k => frequency D x k * u (pair K x k)).
Definition eta (u : vector) (x : nat) :=
  beta D * sum X (fun y => P D x y * mean_of u y) - u (pair K x (anchor D x)).
(* the quadratic form of the Hessian at the minimiser *)
Definition hessian (u : vector) :=
  sum X (fun x => w D x * sum K (fun k => frequency D x k * (u (pair K x k) - mean_of u x) ^ 2)) +
  2 * sum X (fun x => b D x * eta u x ^ 2).
(* |Pi u|^2, Pi the projection off the constants *)
Definition off_constants (u : vector) := sum (X * K) (fun i =>
  (u i - sum (X * K) u / INR (X * K)) ^ 2).
(* tau bounds Dobrushin's coefficient: half the distance of two rows of P *)
Definition dobrushin (tau : R) := forall x y, (x < X)%nat -> (y < X)%nat ->
  sum X (fun z => Rabs (P D x z - P D y z)) / 2 <= tau.
(* at most min w pi-hat and min b *)
Definition least_pair (m : R) := 0 < m /\
  forall x k, (x < X)%nat -> (k < K)%nat -> m <= w D x * frequency D x k.
Definition least_row (m : R) := 0 < m /\ forall x, (x < X)%nat -> m <= b D x.
End Statement.

(* The second derivative of g at the minimiser is the form. Whatever the common shift, it is at least
   |Pi u|^2 / C. *)
Definition theorem_8 := forall D Qstar tau m1 m2, counts D -> condition_S D -> condition_F D ->
  let X := states D in let K := actions D in
  has_coordinates D Qstar (fun x k => ln (frequency D x k)) (fun _ => 0) ->
  dobrushin D tau -> beta D * tau < 1 -> least_pair D m1 -> least_row D m2 ->
  let k := sqrt (INR K * INR X / 2) / (1 - beta D * tau) in
  let C := (1 + k) ^ 2 / m1 + k ^ 2 / (2 * m2) in
  forall u,
  derivable_pt_lim (fun s => sum X (fun x => sum K (fun k =>
    slope_g D (along Qstar u s) x k * u (pair K x k)))) 0 (hessian D u) /\
  forall shift, off_constants D u <= C * hessian D (shifted u shift).

(* For a reset, what can be reached by common shifts does not depend on beta: D' is D but for beta. *)
Definition theorem_8_reset := forall D D', counts D -> condition_S D -> counts D' ->
  states D' = states D -> actions D' = actions D -> all_states D' = all_states D ->
  count D' = count D -> anchor D' = anchor D ->
  (forall x x' y, (x < states D)%nat -> (x' < states D)%nat -> P D x y = P D x' y) ->
  forall u shift, exists shift', hessian D' (shifted u shift') = hessian D (shifted u shift).

(* --- spans *)
Fixpoint maximum (n : nat) (x : vector) : R :=
  match n with O => x O | S k => Rmax (maximum k x) (x k) end.

Lemma maximum_above : forall n x i, (i < n)%nat -> x i <= maximum n x.
Proof.
  induction n; intros x i H; [lia |]. simpl. destruct (Nat.eq_dec i n) as [E | E].
  - subst. apply Rmax_r.
  - eapply Rle_trans; [apply IHn; lia | apply Rmax_l].
Qed.

Lemma maximum_is : forall n x, (0 < n)%nat -> exists i, (i < n)%nat /\ maximum n x = x i.
Proof.
  intros n x Hn. assert (G : forall n, maximum n x = x O \/ exists i, (i < n)%nat /\ maximum n x = x i).
  { induction n0; simpl; [auto |]. unfold Rmax. destruct (Rle_dec (maximum n0 x) (x n0)).
    - right. exists n0. split; [lia | auto].
    - destruct IHn0 as [E | [i [Hi E]]]; [auto |]. right. exists i. split; [lia | auto]. }
  destruct (G n) as [E | E]; [exists O; auto | auto].
Qed.

Definition span (n : nat) (x : vector) := maximum n x + maximum n (fun i => - x i).

Lemma span_above : forall n x i j, (i < n)%nat -> (j < n)%nat -> x i - x j <= span n x.
Proof.
  intros n x i j Hi Hj. pose proof (maximum_above n x i Hi).
  pose proof (maximum_above n (fun i => - x i) j Hj). unfold span. cbv beta in *. lra.
Qed.

Lemma span_is : forall n x, (0 < n)%nat ->
  exists i j, (i < n)%nat /\ (j < n)%nat /\ span n x = x i - x j.
Proof.
  intros n x Hn. destruct (maximum_is n x Hn) as [i [Hi Ei]].
  destruct (maximum_is n (fun i => - x i) Hn) as [j [Hj Ej]]. exists i, j.
  split; [auto |]. split; [auto |]. unfold span. rewrite Ei, Ej. ring.
Qed.

Lemma span_nonneg : forall n x, (0 < n)%nat -> 0 <= span n x.
Proof. intros n x Hn. pose proof (span_above n x O O Hn Hn). lra. Qed.

(* the middle: every entry is within half the span of it *)
Lemma middle : forall n x, (0 < n)%nat ->
  exists c, forall i, (i < n)%nat -> Rabs (x i - c) <= span n x / 2.
Proof.
  intros n x Hn. exists ((maximum n x - maximum n (fun i => - x i)) / 2). intros i Hi.
  pose proof (maximum_above n x i Hi). pose proof (maximum_above n (fun i => - x i) i Hi).
  cbv beta in *. unfold span. apply Rabs_le. lra.
Qed.

Lemma span_square : forall n x, (0 < n)%nat -> span n x ^ 2 <= 2 * sum n (fun i => x i ^ 2).
Proof.
  intros n x Hn. assert (P : 0 <= sum n (fun i => x i ^ 2)) by (apply sum_pos; intros; apply pow2_ge_0).
  destruct (span_is n x Hn) as [i [j [Hi [Hj E]]]]. rewrite E.
  destruct (Nat.eq_dec i j) as [Ij | Ij].
  - subst. replace ((x j - x j) ^ 2) with 0 by ring. lra.
  - pose proof (sum_two n (fun i => x i ^ 2) i j ltac:(intros; apply pow2_ge_0) Ij Hi Hj) as T.
    cbv beta in T. pose proof (pow2_ge_0 (x i + x j)). nra.
Qed.

(* a mean square about the mean is at most that about anything *)
Lemma least_about_mean : forall n x c, (0 < n)%nat ->
  sum n (fun i => (x i - sum n x / INR n) ^ 2) <= sum n (fun i => (x i - c) ^ 2).
Proof.
  intros n x c Hn. assert (N : 0 < INR n) by (apply (lt_INR 0); auto). set (a := sum n x / INR n).
  assert (A : sum n x = INR n * a) by (unfold a; field; lra).
  assert (E : forall t, sum n (fun i => (x i - t) ^ 2) =
    sum n (fun i => x i ^ 2) + (-2 * t * sum n x + INR n * t ^ 2)).
  { intros t. rewrite (sum_ext n _ (fun i => x i ^ 2 + (-2 * t * x i + t ^ 2))) by (intros; ring).
    rewrite !sum_plus, sum_scal, sum_const. auto. }
  rewrite !E, A. pose proof (pow2_ge_0 (a - c)). nra.
Qed.

(* --- proofs *)
Section Proof.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).
Hypothesis C : counts D.
Hypothesis S : condition_S D.

Lemma X_pos : (0 < X)%nat.
Proof. apply C. Qed.

Lemma mean_shift : forall u c x, (x < X)%nat -> mean_of D (shifted u c) x = mean_of D u x + c.
Proof.
  intros u c x Hx. unfold mean_of, shifted.
  rewrite (sum_ext K _ (fun k => frequency D x k * u (pair K x k) + c * frequency D x k))
    by (intros; ring).
  rewrite sum_plus, sum_scal, frequency_sum by auto. ring.
Qed.

Lemma eta_shift : forall u c x, (x < X)%nat ->
  eta D (shifted u c) x = eta D u x - (1 - beta D) * c.
Proof.
  intros u c x Hx. unfold eta.
  rewrite (sum_ext X _ (fun y => P D x y * mean_of D u y + c * P D x y))
    by (intros; rewrite mean_shift by auto; ring).
  rewrite sum_plus, sum_scal, P_sum by auto. unfold shifted. ring.
Qed.

Lemma off_shift : forall u c, off_constants D (shifted u c) = off_constants D u.
Proof.
  intros u c. unfold off_constants. pose proof X_pos. pose proof (actions_pos D C).
  assert (N : INR (X * K) <> 0) by (apply not_0_INR; nia).
  apply sum_ext. intros i _. f_equal. unfold shifted. rewrite sum_plus, sum_const. field. exact N.
Qed.

(* the span contracts under P *)
Lemma P_contracts : forall tau f, dobrushin D tau -> forall x y, (x < X)%nat -> (y < X)%nat ->
  sum X (fun z => P D x z * f z) - sum X (fun z => P D y z * f z) <= tau * span X f.
Proof.
  intros tau f HT x y Hx Hy. destruct (middle X f X_pos) as [c Hc].
  assert (E : sum X (fun z => P D x z * f z) - sum X (fun z => P D y z * f z) =
    sum X (fun z => (P D x z - P D y z) * (f z - c))).
  { rewrite (sum_ext X (fun z => (P D x z - P D y z) * (f z - c)) (fun z =>
      P D x z * f z + (-1 * (P D y z * f z) + (- c * P D x z + c * P D y z)))) by (intros; ring).
    rewrite !sum_plus, !sum_scal, !P_sum by auto. ring. }
  rewrite E. pose proof (span_nonneg X f X_pos) as Sp.
  apply Rle_trans with (sum X (fun z => span X f / 2 * Rabs (P D x z - P D y z))).
  - apply sum_le. intros z Hz. eapply Rle_trans; [apply Rle_abs |]. rewrite Rabs_mult.
    rewrite Rmult_comm. apply Rmult_le_compat_r; [apply Rabs_pos | auto].
  - rewrite sum_scal. pose proof (HT x y Hx Hy). nra.
Qed.

Variables (tau m1 m2 : R).
Hypothesis HT : dobrushin D tau.
Hypothesis Hbt : beta D * tau < 1.
Hypothesis M1 : least_pair D m1.
Hypothesis M2 : least_row D m2.
Variable u : vector.

Let nu := mean_of D u.
Let lam (x k : nat) := u (pair K x k) - nu x.
Let at_ (x : nat) := lam x (anchor D x) + eta D u x.
Let L2 := sum X (fun x => sum K (fun k => lam x k ^ 2)).
Let E2 := sum X (fun x => eta D u x ^ 2).

Lemma nu_solves : forall x, (x < X)%nat ->
  nu x - beta D * sum X (fun y => P D x y * nu y) = - at_ x.
Proof. intros x Hx. unfold at_, lam, eta. fold nu. ring. Qed.

Lemma span_of_nu : (1 - beta D * tau) * span X nu <= span X at_.
Proof.
  destruct (span_is X nu X_pos) as [x [y [Hx [Hy E]]]].
  pose proof (nu_solves x Hx). pose proof (nu_solves y Hy).
  pose proof (P_contracts tau nu HT x y Hx Hy) as Pc.
  pose proof (span_above X at_ y x Hy Hx) as A.
  assert (B : 0 <= beta D) by apply C.
  assert (beta D * (sum X (fun z => P D x z * nu z) - sum X (fun z => P D y z * nu z)) <=
    beta D * (tau * span X nu)) by (apply Rmult_le_compat_l; auto).
  lra.
Qed.

Lemma L2_nonneg : 0 <= L2.
Proof. apply sum_pos. intros. apply sum_pos. intros. apply pow2_ge_0. Qed.

Lemma E2_nonneg : 0 <= E2.
Proof. apply sum_pos. intros. apply pow2_ge_0. Qed.

(* Minkowski for two sums of squares *)
Lemma minkowski : forall n (a c : vector),
  sqrt (sum n (fun i => (a i + c i) ^ 2)) <=
  sqrt (sum n (fun i => a i ^ 2)) + sqrt (sum n (fun i => c i ^ 2)).
Proof.
  intros n a c. set (A := sum n (fun i => a i ^ 2)). set (B := sum n (fun i => c i ^ 2)).
  assert (A0 : 0 <= A) by (apply sum_pos; intros; apply pow2_ge_0).
  assert (B0 : 0 <= B) by (apply sum_pos; intros; apply pow2_ge_0).
  pose proof (sqrt_pos A) as SA. pose proof (sqrt_pos B) as SB.
  apply below_root; [lra |]. rewrite pow2_sqrt by (apply sum_pos; intros; apply pow2_ge_0).
  rewrite (sum_ext n _ (fun i => a i ^ 2 + (2 * (1 * a i * c i) + c i ^ 2))) by (intros; ring).
  rewrite !sum_plus, sum_scal. fold A B.
  assert (Cr : sum n (fun i => 1 * a i * c i) <= sqrt A * sqrt B).
  { apply below_root; [apply Rmult_le_pos; auto |]. rewrite Rpow_mult_distr, !pow2_sqrt by auto.
    eapply Rle_trans; [apply (cauchy_sum n (fun _ => 1)); intros; lra |]. right.
    unfold A, B. f_equal; apply sum_ext; intros; ring. }
  pose proof (pow2_sqrt A A0). pose proof (pow2_sqrt B B0). nra.
Qed.

Let k := sqrt (INR K * INR X / 2) / (1 - beta D * tau).

Lemma k_nonneg : 0 <= k.
Proof.
  unfold k, Rdiv. apply Rmult_le_pos; [apply sqrt_pos |]. left. apply Rinv_0_lt_compat. lra.
Qed.

Lemma at_below : sqrt (sum X (fun x => at_ x ^ 2)) <= sqrt L2 + sqrt E2.
Proof.
  eapply Rle_trans; [apply (minkowski X (fun x => lam x (anchor D x)) (eta D u)) |].
  apply Rplus_le_compat; [| unfold E2; lra]. apply sqrt_le_1_alt. apply sum_le. intros x Hx.
  apply (sum_term K (fun k => lam x k ^ 2)); [intros; apply pow2_ge_0 | apply anchor_in; auto].
Qed.

(* V moves by nu: off its middle it is at most k (|lambda| + |eta|) over pairs *)
Lemma nu_off_middle : exists c, sqrt (sum X (fun x => sum K (fun _ => (nu x - c) ^ 2))) <=
  k * (sqrt L2 + sqrt E2).
Proof.
  destruct (middle X nu X_pos) as [c Hc]. exists c.
  pose proof span_of_nu as Sn. pose proof (span_nonneg X nu X_pos) as S0.
  pose proof (span_nonneg X at_ X_pos) as A0. pose proof at_below as Ab.
  pose proof (span_square X at_ X_pos) as Sq.
  set (T := sum X (fun x => at_ x ^ 2)) in *.
  assert (T0 : 0 <= T) by (apply sum_pos; intros; apply pow2_ge_0).
  pose proof (pos_INR X) as IX. pose proof (pos_INR K) as IK.
  assert (H1 : sum X (fun x => sum K (fun _ => (nu x - c) ^ 2)) <=
    INR K * INR X * (span X nu / 2) ^ 2).
  { replace (INR K * INR X * (span X nu / 2) ^ 2) with
      (sum X (fun _ => sum K (fun _ => (span X nu / 2) ^ 2))) by (rewrite !sum_const; ring).
    apply sum_le. intros x Hx. apply sum_le. intros j _.
    replace ((nu x - c) ^ 2) with (Rabs (nu x - c) ^ 2)
      by (rewrite <- !Rsqr_pow2; symmetry; apply Rsqr_abs).
    apply pow_incr. split; [apply Rabs_pos | auto]. }
  apply Rle_trans with (k * sqrt T); [| apply Rmult_le_compat_l; [apply k_nonneg | auto]].
  apply below_root; [apply Rmult_le_pos; [apply k_nonneg | apply sqrt_pos] |].
  rewrite pow2_sqrt by (apply sum_pos; intros; apply sum_pos; intros; apply pow2_ge_0).
  eapply Rle_trans; [exact H1 |]. rewrite Rpow_mult_distr, (pow2_sqrt T) by auto.
  assert (K2 : k ^ 2 * (1 - beta D * tau) ^ 2 = INR K * INR X / 2).
  { unfold k. replace ((sqrt (INR K * INR X / 2) / (1 - beta D * tau)) ^ 2 * (1 - beta D * tau) ^ 2)
      with (sqrt (INR K * INR X / 2) ^ 2) by (field; lra).
    apply pow2_sqrt. apply Rmult_le_pos; [apply Rmult_le_pos; auto | lra]. }
  assert (Q : ((1 - beta D * tau) * span X nu) ^ 2 <= 2 * T).
  { eapply Rle_trans; [| exact Sq]. apply pow_incr. split; [apply Rmult_le_pos; lra | auto]. }
  replace (INR K * INR X * (span X nu / 2) ^ 2) with
    (INR K * INR X / 2 * (span X nu ^ 2 / 2)) by field.
  rewrite <- K2.
  replace (k ^ 2 * (1 - beta D * tau) ^ 2 * (span X nu ^ 2 / 2)) with
    (k ^ 2 * (((1 - beta D * tau) * span X nu) ^ 2 / 2)) by field.
  apply Rmult_le_compat_l; [apply pow2_ge_0 | lra].
Qed.

Lemma off_below : sqrt (off_constants D u) <= (1 + k) * sqrt L2 + k * sqrt E2.
Proof.
  destruct nu_off_middle as [c Hc]. pose proof X_pos. pose proof (actions_pos D C).
  apply Rle_trans with (sqrt (sum (X * K) (fun i => (u i - c) ^ 2))).
  { apply sqrt_le_1_alt. apply least_about_mean. nia. }
  set (a := table K lam). set (v := table K (fun x _ => nu x - c)).
  assert (E : sum (X * K) (fun i => (u i - c) ^ 2) = sum (X * K) (fun i => (a i + v i) ^ 2)).
  { rewrite !sum_pairs. apply sum2_ext. intros x j Hx Hj. unfold a, v. rewrite !table_pair by auto.
    unfold lam. f_equal. ring. }
  rewrite E. eapply Rle_trans; [apply minkowski |].
  assert (E1 : sum (X * K) (fun i => a i ^ 2) = L2).
  { rewrite sum_pairs. apply sum2_ext. intros x j Hx Hj. unfold a. rewrite table_pair; auto. }
  assert (E3 : sum (X * K) (fun i => v i ^ 2) = sum X (fun x => sum K (fun _ => (nu x - c) ^ 2))).
  { rewrite sum_pairs. apply sum2_ext. intros x j Hx Hj. unfold v. rewrite table_pair; auto. }
  rewrite E1, E3. lra.
Qed.

Lemma hessian_above : m1 * L2 + 2 * m2 * E2 <= hessian D u.
Proof.
  destruct M1 as [P1 H1]. destruct M2 as [P2 H2]. unfold hessian. fold nu. apply Rplus_le_compat.
  - unfold L2. rewrite <- sum2_scal. apply sum_le. intros x Hx. rewrite <- sum_scal. apply sum_le.
    intros j Hj. pose proof (H1 x j Hx Hj). pose proof (pow2_ge_0 (lam x j)). unfold lam in *.
    rewrite <- Rmult_assoc. apply Rmult_le_compat_r; auto.
  - rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra |]. unfold E2. rewrite <- sum_scal.
    apply sum_le. intros x Hx. apply Rmult_le_compat_r; [apply pow2_ge_0 | auto].
Qed.

Lemma form_below : off_constants D u <= ((1 + k) ^ 2 / m1 + k ^ 2 / (2 * m2)) * hessian D u.
Proof.
  pose proof L2_nonneg as L0. pose proof E2_nonneg as E0. pose proof k_nonneg as k0.
  destruct M1 as [P1 _]. destruct M2 as [P2 _]. pose proof off_below as O.
  assert (F0 : 0 <= off_constants D u) by (apply sum_pos; intros; apply pow2_ge_0).
  pose proof (sqrt_pos L2) as SL. pose proof (sqrt_pos E2) as SE.
  assert (Q : off_constants D u <= ((1 + k) * sqrt L2 + k * sqrt E2) ^ 2).
  { rewrite <- (pow2_sqrt (off_constants D u)) by auto. apply pow_incr. split; [apply sqrt_pos | auto]. }
  eapply Rle_trans; [exact Q |].
  assert (C0 : 0 <= (1 + k) ^ 2 / m1 + k ^ 2 / (2 * m2)).
  { apply Rplus_le_le_0_compat; unfold Rdiv; apply Rmult_le_pos; try apply pow2_ge_0; left;
      apply Rinv_0_lt_compat; lra. }
  eapply Rle_trans; [| apply Rmult_le_compat_l; [exact C0 | apply hessian_above]].
  pose proof (pow2_sqrt L2 L0) as QL. pose proof (pow2_sqrt E2 E0) as QE.
  set (s := sqrt L2) in *. set (t := sqrt E2) in *.
  replace (m1 * L2 + 2 * m2 * E2) with (m1 * s ^ 2 + 2 * m2 * t ^ 2) by (rewrite QL, QE; ring).
  assert (Sq : 0 <= ((1 + k) * (2 * m2) * t - k * m1 * s) ^ 2 / (m1 * (2 * m2))).
  { unfold Rdiv. apply Rmult_le_pos; [apply pow2_ge_0 |]. left. apply Rinv_0_lt_compat.
    apply Rmult_lt_0_compat; lra. }
  replace (((1 + k) ^ 2 / m1 + k ^ 2 / (2 * m2)) * (m1 * s ^ 2 + 2 * m2 * t ^ 2)) with
    (((1 + k) * s + k * t) ^ 2 + ((1 + k) * (2 * m2) * t - k * m1 * s) ^ 2 / (m1 * (2 * m2)))
    by (field; lra). lra.
Qed.
End Proof.

Theorem theorem_8_holds : theorem_8.
Proof.
  intros D Qstar tau m1 m2 C S F X K Star HT Hbt M1 M2 k Cc u. split.
  - pose proof (along_u_curve D C (along Qstar u) u 0 u (line Qstar u 0)) as H.
    rewrite along_0 in H.
    assert (Ch : forall x j, (x < X)%nat -> (j < K)%nat -> choice K Qstar x j = frequency D x j).
    { intros x j Hx Hj. destruct (Star x Hx) as [_ L]. apply ln_inv.
      - apply choice_pos. apply actions_pos; auto.
      - apply pi_pos; auto.
      - apply L. auto. }
    assert (Av : forall x, (x < X)%nat -> average D Qstar u x = mean_of D u x).
    { intros x Hx. unfold average, mean_of. apply sum_ext. intros j Hj. fold K. rewrite Ch; auto. }
    assert (E : curvature D Qstar u u = hessian D u); [| rewrite <- E; exact H].
    unfold curvature, hessian. f_equal.
    + apply sum_ext. intros x Hx. f_equal. unfold covariance. apply sum_ext. intros j Hj. fold K.
      rewrite Ch, Av by auto. ring.
    + rewrite <- sum_scal. apply sum_ext. intros x Hx. destruct (Star x Hx) as [Z _]. rewrite Z.
      assert (Mv : move_of_e D Qstar u x = eta D u x).
      { unfold move_of_e, eta. rewrite slope_is. f_equal. f_equal. apply sum_ext. intros y Hy.
        rewrite Av; auto. }
      rewrite Mv. ring.
  - intros shift. rewrite <- (off_shift D C u shift). unfold Cc, k.
    apply (form_below D C S tau m1 m2 HT Hbt M1 M2 (shifted u shift)).
Qed.

Theorem theorem_8_reset_holds : theorem_8_reset.
Proof.
  intros D D' C S C' EX EK EY En Ea Same u shift.
  assert (Ob : observations D' = observations D)
    by (unfold observations, visits, taken; rewrite EX, EK, EY, En; auto).
  assert (Ew : w D' = w D)
    by (apply functional_extensionality; intros; unfold w; rewrite Ob; unfold visits, taken;
      rewrite EK, EY, En; auto).
  assert (Eb : b D' = b D)
    by (apply functional_extensionality; intros; unfold b; rewrite Ob; unfold taken;
      rewrite EY, En, Ea; auto).
  assert (Ef : frequency D' = frequency D)
    by (apply functional_extensionality; intros; apply functional_extensionality; intros;
      unfold frequency, visits, taken; rewrite EK, EY, En; auto).
  assert (EP : P D' = P D)
    by (apply functional_extensionality; intros; apply functional_extensionality; intros;
      unfold P, taken; rewrite EY, En, Ea; auto).
  assert (Em : mean_of D' = mean_of D)
    by (apply functional_extensionality; intros; apply functional_extensionality; intros;
      unfold mean_of; rewrite EK, Ef; auto).
  assert (S' : condition_S D').
  { intros x Hx. rewrite EX in Hx. destruct (S x Hx) as [H Z]. unfold taken. rewrite EY, En, Ea, EX.
    split; [exact H | exact Z]. }
  assert (X0 : (0 < states D)%nat) by apply C.
  (* P nu is the same number in all states *)
  set (mu := sum (states D) (fun y => P D O y * mean_of D u y)).
  assert (Hm : forall x, (x < states D)%nat ->
    sum (states D) (fun y => P D x y * mean_of D u y) = mu).
  { intros x Hx. unfold mu. apply sum_ext. intros y _. rewrite (Same x O y); auto. }
  assert (B' : 1 - beta D' <> 0) by (destruct C' as [_ [_ [_ [_ Hb]]]]; lra).
  exists (((beta D' - beta D) * mu + (1 - beta D) * shift) / (1 - beta D')).
  set (shift' := _ / _). unfold hessian. rewrite EX, EK, Ew, Eb, Ef, Em. f_equal.
  - apply sum_ext. intros x Hx. f_equal. apply sum_ext. intros j Hj.
    rewrite !mean_shift by auto. unfold shifted. ring.
  - f_equal. apply sum_ext. intros x Hx. f_equal. f_equal.
    rewrite (eta_shift D C S) by auto. rewrite (eta_shift D' C' S') by (rewrite EX; auto).
    unfold eta. rewrite EX, EK, EP, Em, Ea, Hm by auto. unfold shift'. field. exact B'.
Qed.

Print Assumptions theorem_8_holds.
Print Assumptions theorem_8_reset_holds.
