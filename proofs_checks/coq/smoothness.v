(* The smoothness of the paper's profile g below a level, in the metric of visits: the remark after
   Theorem 6 of corrected.md. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient pl.
Open Scope R_scope.

(* --- statement *)

(* |b^1/2 P_p M^-1/2| <= nu for all choices p; a^2 is at least max b / w; kappa at least
   max_y (W sum_j b_j P(j, y)^2)^1/2 / w_y. *)
Definition smoothness_below_a_level := forall D W nu a kappa, counts D -> condition_S D ->
  let X := states D in
  0 <= nu -> 0 <= a -> 0 <= kappa ->
  bounded_by (X * actions D) X (metric D) (b D) nu (slope X (actions D) (P D)) ->
  (forall x, (x < X)%nat -> b D x <= a ^ 2 * w D x) ->
  (forall y, (y < X)%nat -> W * sum X (fun j => b D j * P D j y ^ 2) <= (kappa * w D y) ^ 2) ->
  smooth (X * actions D) (metric D) (g D) (1 / 2 + 2 * (beta D * nu + a) ^ 2 + beta D * kappa)
    (entropy D + W) (gradient_g D).

(* --- a variance of softmax is at most half the sum of squares *)
Lemma pairs_of_sums : forall n p u, (forall i, (i < n)%nat -> 0 <= p i) ->
  0 <= sum n p * sum n (fun i => p i * u i ^ 2) + sum n (fun i => p i * u i) ^ 2 -
    2 * sum n (fun i => p i ^ 2 * u i ^ 2).
Proof.
  assert (Sum : forall n x, sum (S n) x = sum n x + x n) by reflexivity.
  induction n; intros p u H; [simpl; lra |]. rewrite !Sum.
  assert (Hn : forall i, (i < n)%nat -> 0 <= p i) by auto.
  specialize (IHn p u Hn). pose proof (H n (Nat.lt_succ_diag_r n)) as Pn.
  assert (Q : 0 <= sum n (fun i => p i * (u i + u n) ^ 2)).
  { apply sum_pos. intros. apply Rmult_le_pos; [auto | apply pow2_ge_0]. }
  rewrite (sum_ext n _ (fun i => p i * u i ^ 2 + (2 * u n * (p i * u i) + u n ^ 2 * p i))) in Q
    by (intros; ring).
  rewrite !sum_plus, !sum_scal in Q.
  set (s0 := sum n p) in *. set (s1 := sum n (fun i => p i * u i)) in *.
  set (s2 := sum n (fun i => p i * u i ^ 2)) in *.
  set (s3 := sum n (fun i => p i ^ 2 * u i ^ 2)) in *.
  replace ((s0 + p n) * (s2 + p n * u n ^ 2) + (s1 + p n * u n) ^ 2 -
    2 * (s3 + p n ^ 2 * u n ^ 2)) with (s0 * s2 + s1 ^ 2 - 2 * s3 +
    p n * (s2 + (2 * u n * s1 + u n ^ 2 * s0))) by ring.
  assert (0 <= p n * (s2 + (2 * u n * s1 + u n ^ 2 * s0))) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma variance_below : forall n p u, (forall i, (i < n)%nat -> 0 <= p i) -> sum n p = 1 ->
  sum n (fun i => p i * u i ^ 2) - sum n (fun i => p i * u i) ^ 2 <=
  1 / 2 * sum n (fun i => u i ^ 2).
Proof.
  intros n p u H H1. pose proof (pairs_of_sums n p u H) as Q. rewrite H1 in Q.
  assert (B : sum n (fun i => 2 * (p i * u i ^ 2) + - 2 * (p i ^ 2 * u i ^ 2)) <=
    sum n (fun i => 1 / 2 * u i ^ 2)).
  { apply sum_le. intros i _. pose proof (pow2_ge_0 (u i)).
    pose proof (pow2_ge_0 (2 * p i - 1)).
    assert (0 <= (2 * p i - 1) ^ 2 * u i ^ 2) by (apply Rmult_le_pos; auto). lra. }
  rewrite sum_plus, !sum_scal in B. lra.
Qed.

Section Proof.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).
Hypothesis C : counts D.
Hypothesis S : condition_S D.

(* means and covariances under the choices in a state *)
Definition average (q p : vector) (y : nat) := sum K (fun k => choice K q y k * p (pair K y k)).
Definition covariance (q u p : vector) (y : nat) := sum K (fun k =>
  choice K q y k * (u (pair K y k) - average q u y) * (p (pair K y k) - average q p y)).
Definition square (u : vector) (y : nat) := sum K (fun k => u (pair K y k) ^ 2).

Lemma square_pos : forall u y, 0 <= square u y.
Proof. intros. apply sum_pos. intros. apply pow2_ge_0. Qed.

Lemma HK : (0 < K)%nat.
Proof. apply actions_pos; auto. Qed.

Lemma variance_of : forall q u y, sum K (fun k =>
  choice K q y k * (u (pair K y k) - average q u y) ^ 2) <= 1 / 2 * square u y.
Proof.
  intros q u y. pose proof (variance_below K (choice K q y) (fun k => u (pair K y k))
    (fun k _ => Rlt_le _ _ (choice_pos K q y k HK)) (choice_sum K q y HK)) as V.
  cbv beta in V.
  fold (average q u y) in V. fold (square u y) in V.
  set (m := average q u y) in *.
  rewrite (sum_ext K _ (fun k => choice K q y k * u (pair K y k) ^ 2 +
    (- 2 * m * (choice K q y k * u (pair K y k)) + m ^ 2 * choice K q y k))) by (intros; ring).
  rewrite !sum_plus, !sum_scal, choice_sum by apply HK. fold (average q u y). fold m. lra.
Qed.

Lemma covariance_below : forall q u p y,
  Rabs (covariance q u p y) <= 1 / 2 * (sqrt (square u y) * sqrt (square p y)).
Proof.
  intros q u p y. pose proof (square_pos u y). pose proof (square_pos p y).
  pose proof (sqrt_pos (square u y)). pose proof (sqrt_pos (square p y)).
  apply below_root; [apply Rmult_le_pos; [lra | apply Rmult_le_pos; auto] |].
  rewrite RPow_abs, Rabs_pos_eq by apply pow2_ge_0. unfold covariance.
  eapply Rle_trans; [apply (cauchy_sum K (choice K q y)
    (fun k => u (pair K y k) - average q u y) (fun k => p (pair K y k) - average q p y));
    intros; left; apply choice_pos; apply HK |].
  replace ((1 / 2 * (sqrt (square u y) * sqrt (square p y))) ^ 2) with
    ((1 / 2 * (sqrt (square u y) ^ 2)) * (1 / 2 * (sqrt (square p y) ^ 2))) by ring.
  rewrite !pow2_sqrt by auto.
  apply Rmult_le_compat; try apply variance_of; apply sum_pos; intros; apply Rmult_le_pos;
    try apply pow2_ge_0; left; apply choice_pos; apply HK.
Qed.

(* --- second derivatives *)
Lemma choice_curve : forall v v' s y k, curve v s v' ->
  derivable_pt_lim (fun s => choice K (v s) y k) s
    (choice K (v s) y k * (v' (pair K y k) - average (v s) v' y)).
Proof.
  intros v v' s y k H.
  assert (E : forall q, choice K q y k = exp (q (pair K y k) - value K q y)).
  { intros q. rewrite <- log_choice by apply HK. rewrite exp_ln; [auto |].
    apply choice_pos. apply HK. }
  assert (F : (fun s => choice K (v s) y k) =
    (fun s => exp (v s (pair K y k) - value K (v s) y)))
    by (apply functional_extensionality; intros; apply E).
  rewrite F, (E (v s)).
  apply (derivable_pt_lim_comp (fun s => v s (pair K y k) - value K (v s) y) exp);
    [| apply derivable_pt_lim_exp].
  apply derivable_pt_lim_minus; [apply H |]. apply value_curve; [apply HK | auto].
Qed.

Lemma average_curve : forall v v' s u y, curve v s v' ->
  derivable_pt_lim (fun s => average (v s) u y) s (covariance (v s) u v' y).
Proof.
  intros v v' s u y H. unfold covariance. set (a := average (v s) u y).
  set (m := average (v s) v' y).
  assert (E : sum K (fun k => choice K (v s) y k * (u (pair K y k) - a) * (v' (pair K y k) - m)) =
    sum K (fun k => u (pair K y k) * (choice K (v s) y k * (v' (pair K y k) - m)))).
  { rewrite (sum_ext K (fun k => choice K (v s) y k * (u (pair K y k) - a) * _) (fun k =>
      u (pair K y k) * (choice K (v s) y k * (v' (pair K y k) - m)) +
      (- a * (choice K (v s) y k * v' (pair K y k)) + a * m * choice K (v s) y k)))
      by (intros; ring).
    rewrite !sum_plus, !sum_scal, choice_sum by apply HK. fold (average (v s) v' y). fold m. ring. }
  rewrite E.
  assert (F : (fun s => average (v s) u y) =
    (fun s => sum K (fun k => u (pair K y k) * choice K (v s) y k))).
  { apply functional_extensionality. intros t. apply sum_ext. intros. ring. }
  rewrite F. apply (sum_derivative K (fun s k => u (pair K y k) * choice K (v s) y k)).
  intros k. apply scaled_derivative. apply choice_curve. auto.
Qed.

Lemma slope_is : forall q u j, slope X K (P D) q u j = sum X (fun y => P D j y * average q u y).
Proof. reflexivity. Qed.

Lemma move_curve : forall v v' s u j, curve v s v' ->
  derivable_pt_lim (fun s => move_of_e D (v s) u j) s
    (beta D * sum X (fun y => P D j y * covariance (v s) u v' y)).
Proof.
  intros v v' s u j H. unfold move_of_e.
  rewrite <- (Rminus_0_r (beta D * sum X _)).
  apply derivable_pt_lim_minus; [| apply derivable_pt_lim_const]. apply scaled_derivative.
  apply (sum_derivative X (fun s y => P D j y * average (v s) u y)). intros y.
  apply scaled_derivative. apply average_curve. auto.
Qed.

(* the slope of g along u, and its derivative along a curve *)
Definition along_u (u q : vector) :=
  sum X (fun x => sum K (fun k => slope_g D q x k * u (pair K x k))).
Definition curvature (q u p : vector) := sum X (fun x => w D x * covariance q u p x) +
  sum X (fun j => 2 * b D j * (move_of_e D q p j * move_of_e D q u j +
    residual D q j * (beta D * sum X (fun y => P D j y * covariance q u p y)))).

Lemma along_u_curve : forall v v' s u, curve v s v' ->
  derivable_pt_lim (fun s => along_u u (v s)) s (curvature (v s) u v').
Proof.
  intros v v' s u H.
  assert (E : (fun s => along_u u (v s)) = (fun s =>
    sum X (fun x => w D x * (average (v s) u x - sum K (fun k => frequency D x k * u (pair K x k)))) +
    sum X (fun j => 2 * b D j * (residual D (v s) j * move_of_e D (v s) u j)))).
  { apply functional_extensionality. intros t. unfold along_u, slope_g. rewrite pull_adjoint by auto.
    f_equal.
    - apply sum_ext. intros x _. unfold slope_h, average.
      rewrite (sum_ext K _ (fun k => w D x * (choice K (v t) x k * u (pair K x k)) +
        - w D x * (frequency D x k * u (pair K x k)))) by (intros; ring).
      rewrite sum_plus, !sum_scal. ring.
    - apply sum_ext. intros. unfold slope_e. ring. }
  rewrite E. unfold curvature. apply derivable_pt_lim_plus.
  - apply (sum_derivative X (fun s x => w D x * (average (v s) u x - _))). intros x.
    apply scaled_derivative. rewrite <- (Rminus_0_r (covariance _ _ _ _)).
    apply derivable_pt_lim_minus; [apply average_curve; auto | apply derivable_pt_lim_const].
  - apply (sum_derivative X (fun s j => 2 * b D j * (residual D (v s) j * move_of_e D (v s) u j))).
    intros j. apply scaled_derivative.
    apply (derivable_pt_lim_mult (fun s => residual D (v s) j) (fun s => move_of_e D (v s) u j));
      [apply residual_curve; auto | apply move_curve; auto].
Qed.

(* --- the three parts of the curvature *)
Definition norm (u : vector) := sqrt (dot (X * K) (metric D) u u).

Lemma norm_pos : forall u, 0 <= norm u.
Proof. intros. apply sqrt_pos. Qed.

Lemma norm_square : forall u, norm u ^ 2 = dot (X * K) (metric D) u u.
Proof. intros. apply pow2_sqrt. apply dot_pos. intros. apply metric_nonneg; auto. Qed.

Lemma norm_by_state : forall u, norm u ^ 2 = sum X (fun x => w D x * square u x).
Proof.
  intros. rewrite norm_square, dot_pairs. apply sum_ext. intros x _. unfold square.
  rewrite <- sum_scal. apply sum_ext. intros k Hk. unfold metric. rewrite table_pair by auto. ring.
Qed.

Lemma sum_of_norms : forall u p,
  sum X (fun x => w D x * (sqrt (square u x) * sqrt (square p x))) <= norm u * norm p.
Proof.
  intros u p. apply below_root; [apply Rmult_le_pos; apply norm_pos |].
  rewrite (sum_ext X _ (fun x => w D x * sqrt (square u x) * sqrt (square p x)))
    by (intros; ring).
  eapply Rle_trans; [apply cauchy_sum; intros; apply w_nonneg; auto |].
  rewrite Rpow_mult_distr, !norm_by_state. right. f_equal; apply sum_ext; intros;
    rewrite pow2_sqrt; auto; apply square_pos.
Qed.

Lemma part_of_choices : forall q u p,
  sum X (fun x => w D x * covariance q u p x) <= 1 / 2 * (norm u * norm p).
Proof.
  intros q u p.
  apply Rle_trans with (sum X (fun x => 1 / 2 * (w D x * (sqrt (square u x) * sqrt (square p x))))).
  - apply sum_le. intros x _. pose proof (covariance_below q u p x) as H.
    pose proof (Rle_abs (covariance q u p x)). pose proof (w_nonneg D C S x). nra.
  - rewrite sum_scal. apply Rmult_le_compat_l; [lra | apply sum_of_norms].
Qed.

Variables (W nu a kappa : R).
Hypotheses (Hnu : 0 <= nu) (Ha : 0 <= a) (Hk : 0 <= kappa).
Hypothesis Nu : bounded_by (X * K) X (metric D) (b D) nu (slope X K (P D)).
Hypothesis A : forall x, (x < X)%nat -> b D x <= a ^ 2 * w D x.
Hypothesis Kappa : forall y, (y < X)%nat ->
  W * sum X (fun j => b D j * P D j y ^ 2) <= (kappa * w D y) ^ 2.

Lemma beta_pos : 0 <= beta D.
Proof. apply C. Qed.

Lemma moves_of_e : forall q u,
  sum X (fun j => b D j * move_of_e D q u j ^ 2) <= ((beta D * nu + a) * norm u) ^ 2.
Proof.
  intros q u. pose proof beta_pos as B. pose proof (norm_pos u) as N.
  set (s := slope X K (P D) q u). set (o := fun j => u (pair K j (anchor D j))).
  assert (S2 : sum X (fun j => b D j * s j ^ 2) <= (nu * norm u) ^ 2).
  { pose proof (Nu q u) as H. rewrite dot_square in H. fold s in H.
    rewrite Rpow_mult_distr, norm_square. exact H. }
  assert (O2 : sum X (fun j => b D j * o j ^ 2) <= (a * norm u) ^ 2).
  { rewrite Rpow_mult_distr, norm_by_state, <- sum_scal. apply sum_le. intros j Hj.
    assert (T : o j ^ 2 <= square u j).
    { unfold square, o. apply (sum_term K (fun k => u (pair K j k) ^ 2));
        [intros; apply pow2_ge_0 | apply anchor_in; auto]. }
    pose proof (A j Hj). pose proof (b_nonneg D C S j). pose proof (pow2_ge_0 (o j)).
    replace (a ^ 2 * (w D j * square u j)) with ((a ^ 2 * w D j) * square u j) by ring.
    apply Rmult_le_compat; auto. }
  assert (M : - sum X (fun j => b D j * s j * o j) <= (nu * norm u) * (a * norm u)).
  { apply below_root; [repeat apply Rmult_le_pos; auto |].
    replace ((- sum X (fun j => b D j * s j * o j)) ^ 2)
      with (sum X (fun j => b D j * s j * o j) ^ 2) by ring.
    eapply Rle_trans; [apply cauchy_sum; intros; apply b_nonneg; auto |].
    rewrite (Rpow_mult_distr (nu * norm u)).
    apply Rmult_le_compat; auto; apply sum_pos; intros; apply Rmult_le_pos;
      (apply pow2_ge_0 || apply b_nonneg; auto). }
  rewrite (sum_ext X _ (fun j => beta D ^ 2 * (b D j * s j ^ 2) +
    (- 2 * beta D * (b D j * s j * o j) + b D j * o j ^ 2)))
    by (intros; unfold move_of_e; fold s; fold (o i); ring).
  rewrite !sum_plus, !sum_scal.
  assert (beta D ^ 2 * sum X (fun j => b D j * s j ^ 2) <= beta D ^ 2 * (nu * norm u) ^ 2)
    by (apply Rmult_le_compat_l; [apply pow2_ge_0 | auto]).
  assert (2 * beta D * - sum X (fun j => b D j * s j * o j) <=
    2 * beta D * ((nu * norm u) * (a * norm u))) by (apply Rmult_le_compat_l; lra).
  replace (((beta D * nu + a) * norm u) ^ 2) with (beta D ^ 2 * (nu * norm u) ^ 2 +
    (2 * beta D * ((nu * norm u) * (a * norm u)) + (a * norm u) ^ 2)) by ring.
  lra.
Qed.

Lemma part_of_slopes : forall q u p,
  sum X (fun j => b D j * move_of_e D q p j * move_of_e D q u j) <=
  (beta D * nu + a) ^ 2 * (norm u * norm p).
Proof.
  intros q u p. pose proof beta_pos. pose proof (norm_pos u). pose proof (norm_pos p).
  apply below_root; [apply Rmult_le_pos; [apply pow2_ge_0 | apply Rmult_le_pos; auto] |].
  eapply Rle_trans; [apply cauchy_sum; intros; apply b_nonneg; auto |].
  replace (((beta D * nu + a) ^ 2 * (norm u * norm p)) ^ 2) with
    (((beta D * nu + a) * norm p) ^ 2 * ((beta D * nu + a) * norm u) ^ 2) by ring.
  apply Rmult_le_compat; try apply moves_of_e; apply sum_pos; intros; apply Rmult_le_pos;
    (apply pow2_ge_0 || apply b_nonneg; auto).
Qed.

Lemma part_of_residuals : forall q u p, gap D q <= W ->
  sum X (fun j => b D j * residual D q j * sum X (fun y => P D j y * covariance q u p y)) <=
  1 / 2 * kappa * (norm u * norm p).
Proof.
  intros q u p HW.
  set (c := fun y => sum X (fun j => b D j * residual D q j * P D j y)).
  assert (E : sum X (fun j => b D j * residual D q j * sum X (fun y => P D j y * covariance q u p y))
    = sum X (fun y => c y * covariance q u p y)).
  { rewrite (sum_ext X _ (fun j => sum X (fun y =>
      covariance q u p y * (b D j * residual D q j * P D j y)))).
    - rewrite sum_swap. apply sum_ext. intros. rewrite sum_scal. unfold c. ring.
    - intros. rewrite <- sum_scal. apply sum_ext. intros. ring. }
  rewrite E.
  apply Rle_trans with (sum X (fun y =>
    1 / 2 * kappa * (w D y * (sqrt (square u y) * sqrt (square p y))))).
  - apply sum_le. intros y Hy. pose proof (w_nonneg D C S y) as Wy.
    assert (Cy : Rabs (c y) <= kappa * w D y).
    { apply below_root; [apply Rmult_le_pos; auto |].
      rewrite RPow_abs, Rabs_pos_eq by apply pow2_ge_0. unfold c.
      eapply Rle_trans; [apply cauchy_sum; intros; apply b_nonneg; auto |].
      eapply Rle_trans; [| apply (Kappa y Hy)]. apply Rmult_le_compat_r.
      - apply sum_pos. intros. apply Rmult_le_pos; [apply b_nonneg; auto | apply pow2_ge_0].
      - rewrite (gap_is D C S) in HW. pose proof (kl_part_pos D C S q). lra. }
    eapply Rle_trans; [apply Rle_abs |]. rewrite Rabs_mult.
    replace (1 / 2 * kappa * (w D y * (sqrt (square u y) * sqrt (square p y)))) with
      ((kappa * w D y) * (1 / 2 * (sqrt (square u y) * sqrt (square p y)))) by ring.
    apply Rmult_le_compat; try apply Rabs_pos; [auto | apply covariance_below].
  - rewrite sum_scal. apply Rmult_le_compat_l; [nra | apply sum_of_norms].
Qed.

Lemma curvature_below : forall q u p, gap D q <= W ->
  curvature q u p <=
  (1 / 2 + 2 * (beta D * nu + a) ^ 2 + beta D * kappa) * (norm u * norm p).
Proof.
  intros q u p HW. unfold curvature.
  rewrite (sum_ext X (fun j => 2 * b D j * _) (fun j =>
    2 * (b D j * move_of_e D q p j * move_of_e D q u j) + 2 * beta D *
      (b D j * residual D q j * sum X (fun y => P D j y * covariance q u p y)))) by (intros; ring).
  rewrite sum_plus, !sum_scal. pose proof (part_of_choices q u p). pose proof (part_of_slopes q u p).
  pose proof (part_of_residuals q u p HW) as R. pose proof beta_pos.
  assert (2 * beta D * sum X (fun j => b D j * residual D q j *
    sum X (fun y => P D j y * covariance q u p y)) <=
    2 * beta D * (1 / 2 * kappa * (norm u * norm p))) by (apply Rmult_le_compat_l; lra).
  lra.
Qed.

Lemma smooth_holds : smooth (X * K) (metric D) (g D)
  (1 / 2 + 2 * (beta D * nu + a) ^ 2 + beta D * kappa) (entropy D + W) (gradient_g D).
Proof.
  intros q p Hs. set (L := 1 / 2 + _ + _).
  set (u := less (gradient_g D (along q p 1)) (gradient_g D q)).
  assert (HL : 0 <= L).
  { unfold L. pose proof beta_pos. pose proof (pow2_ge_0 (beta D * nu + a)).
    assert (0 <= beta D * kappa) by (apply Rmult_le_pos; auto). lra. }
  assert (Eu : forall q, along_u u q = dot (X * K) (metric D) (gradient_g D q) u).
  { intros. unfold gradient_g. rewrite dot_metric by auto. reflexivity. }
  destruct (MVT_cor2 (fun s => along_u u (along q p s)) (fun s => curvature (along q p s) u p) 0 1
    ltac:(lra)) as [x [E Hx]].
  { intros s _. apply (along_u_curve (along q p)). apply line. }
  rewrite along_0, !Eu in E.
  assert (E2 : dot (X * K) (metric D) u u = curvature (along q p x) u p).
  { unfold u at 1. rewrite dot_sym. rewrite dot_less, !(dot_sym _ _ u). lra. }
  assert (Bd : curvature (along q p x) u p <= L * (norm u * norm p)).
  { apply curvature_below. unfold gap. pose proof (Hs x ltac:(lra)). lra. }
  rewrite <- E2, <- norm_square in Bd. rewrite <- !norm_square.
  pose proof (norm_pos u). pose proof (norm_pos p).
  assert (N : norm u <= L * norm p).
  { destruct (Req_dec (norm u) 0) as [Z | Z].
    - rewrite Z. apply Rmult_le_pos; auto.
    - apply Rmult_le_reg_l with (norm u); lra. }
  rewrite <- Rpow_mult_distr. apply pow_incr. auto.
Qed.
End Proof.

Theorem smoothness_below_a_level_holds : smoothness_below_a_level.
Proof. intros D W nu a kappa C S X Hn Ha Hk Nu A Ka. apply smooth_holds; auto. Qed.

Print Assumptions smoothness_below_a_level_holds.
