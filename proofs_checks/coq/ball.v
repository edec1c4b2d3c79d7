(* Theorem 13 of corrected.md: with the Jacobian conditioned in a ball only, gradient steps 1/L stay in
   it and converge linearly to a global minimiser. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors contraction two_time_scales softmax risk gradient pl.
Open Scope R_scope.

(* --- statements *)
Definition norm_of (n : nat) (x : vector) := sqrt (dot n constant_one x x).
Definition in_ball (n : nat) (center : vector) (radius : R) (x : vector) :=
  norm_of n (less x center) <= radius.
(* smooth along segments that stay in the ball, where g is at most its value at the center *)
Definition smooth_in_ball (n : nat) (g : vector -> R) (L : R) (center : vector) (radius : R)
  (G : vector -> vector) := forall x p,
  (forall s, 0 <= s <= 1 -> in_ball n center radius (along x p s) /\ g (along x p s) <= g center) ->
  norm_of n (less (G (along x p 1)) (G x)) <= L * norm_of n p.
Definition tends (n : nat) (u : nat -> vector) (l : vector) :=
  forall i, (i < n)%nat -> Un_cv (fun t => u t i) (l i).
Definition continuous_in (n : nat) (g : vector -> R) := forall u l, tends n u l ->
  Un_cv (fun t => g (u t)) (g l).

Definition theorem_13 := forall D alpha c n outputs J mu L theta,
  counts D -> condition_S D -> factor D alpha ->
  let risk := fun theta => g D (outputs theta) in
  let G := gradient_in_theta D outputs J in
  let radius := sqrt (8 * (risk theta - entropy D) / (mu * c)) in
  pl_constant D alpha constant_one (risk theta - entropy D) c -> 0 < mu -> 0 < c -> 0 < L ->
  jacobian outputs n J -> continuous_in n risk ->
  (forall t, in_ball n theta radius t -> conditioned (states D * actions D) n J mu t) ->
  smooth_in_ball n risk L theta radius G ->
  (forall t, in_ball n theta radius (iterate L G theta t) /\
    risk (iterate L G theta t) - entropy D <= (1 - mu * c / L) ^ t * (risk theta - entropy D)) /\
  exists l, tends n (iterate L G theta) l /\ risk l = entropy D.

(* --- norms *)
Section Norm.
Variable n : nat.
Local Notation norm := (norm_of n).

Lemma one_pos : forall i, 0 <= constant_one i.
Proof. intros. unfold constant_one. lra. Qed.

Lemma norm_pos : forall x, 0 <= norm x.
Proof. intros. apply sqrt_pos. Qed.

Lemma norm_squared : forall x, norm x ^ 2 = dot n constant_one x x.
Proof. intros. apply pow2_sqrt. apply dot_pos. apply one_pos. Qed.

Lemma product_below : forall x y, dot n constant_one x y <= norm x * norm y.
Proof.
  intros. apply below_root; [apply Rmult_le_pos; apply norm_pos |].
  rewrite Rpow_mult_distr, !norm_squared. apply cauchy. apply one_pos.
Qed.

Lemma norm_along : forall x y s, norm (along x y s) <= norm x + Rabs s * norm y.
Proof.
  intros x y s. pose proof (norm_pos x). pose proof (norm_pos y). pose proof (Rabs_pos s).
  assert (0 <= Rabs s * norm y) by (apply Rmult_le_pos; auto).
  apply below_root; [lra |]. rewrite norm_squared, dot_along.
  rewrite (dot_sym n _ (along x y s) x), (dot_sym n _ (along x y s) y), !dot_along.
  rewrite (dot_sym n _ y x), <- !norm_squared.
  assert (P : s * dot n constant_one x y <= Rabs s * (norm x * norm y)).
  { eapply Rle_trans; [apply Rle_abs |]. rewrite Rabs_mult. apply Rmult_le_compat_l; [auto |].
    apply Rabs_le. split; [| apply product_below].
    pose proof (product_below (along (fun _ => 0) x (-1)) y) as Q.
    assert (E1 : dot n constant_one (along (fun _ => 0) x (-1)) y = - dot n constant_one x y).
    { rewrite dot_sym, dot_along, (dot_sym n _ y x).
      assert (Z : dot n constant_one y (fun _ => 0) = 0).
      { rewrite dot_sum, (sum_ext n _ (fun _ => 0)), sum_const by (intros; ring). ring. }
      rewrite Z. ring. }
    assert (E2 : norm (along (fun _ => 0) x (-1)) = norm x).
    { unfold norm_of. f_equal. rewrite !dot_sum. apply sum_ext. intros. unfold along. ring. }
    rewrite E1, E2 in Q. lra. }
  assert (S2 : s ^ 2 = Rabs s ^ 2) by (rewrite <- !Rsqr_pow2; apply Rsqr_abs).
  replace ((norm x + Rabs s * norm y) ^ 2) with
    (norm x ^ 2 + 2 * (Rabs s * (norm x * norm y)) + Rabs s ^ 2 * norm y ^ 2) by ring.
  rewrite <- S2. lra.
Qed.

Lemma norm_scaled : forall x s, norm (fun i => s * x i) = Rabs s * norm x.
Proof.
  intros. unfold norm_of. rewrite <- (sqrt_pow2 (Rabs s)) by apply Rabs_pos.
  rewrite <- sqrt_mult; [| apply pow2_ge_0 | apply dot_pos; apply one_pos]. f_equal.
  replace (Rabs s ^ 2) with (s ^ 2) by (rewrite <- !Rsqr_pow2; apply Rsqr_abs).
  rewrite !dot_sum, <- sum_scal. apply sum_ext. intros. unfold constant_one. ring.
Qed.

Lemma entry_below_norm : forall x i, (i < n)%nat -> Rabs (x i) <= norm x.
Proof.
  intros x i Hi. apply below_root; [apply norm_pos |]. rewrite norm_squared, dot_sum.
  replace (Rabs (x i) ^ 2) with (constant_one i * x i * x i)
    by (unfold constant_one; rewrite <- Rsqr_pow2, <- Rsqr_abs; unfold Rsqr; ring).
  apply (sum_term n (fun i => constant_one i * x i * x i)); auto. intros.
  unfold constant_one. pose proof (pow2_ge_0 (x i0)). lra.
Qed.
End Norm.

(* --- one step *)
Section Step.
Variables (n : nat) (g : vector -> R) (G : vector -> vector) (least c L : R) (center : vector).
Hypothesis DG : gradient_of_g n constant_one g G.
Hypothesis Least : forall x, least <= g x.
Hypotheses (Hc : 0 < c) (HL : 0 < L).
Let radius := sqrt (8 * (g center - least) / c).
Hypothesis PL : forall x, in_ball n center radius x -> g x <= g center ->
  2 * c * (g x - least) <= norm_of n (G x) ^ 2.
Hypothesis Sm : smooth_in_ball n g L center radius G.

Let root (x : vector) := sqrt (g x - least).
Let a := 4 / sqrt (2 * c).
Definition kept (x : vector) :=
  norm_of n (less x center) + a * root x <= radius /\ g x <= g center.

Lemma s2c : 0 < sqrt (2 * c).
Proof. apply sqrt_lt_R0. lra. Qed.

Lemma a_pos : 0 < a.
Proof. unfold a. apply Rdiv_lt_0_compat; [lra | apply s2c]. Qed.

Lemma root_pos : forall x, 0 <= root x.
Proof. intros. apply sqrt_pos. Qed.

Lemma root_squared : forall x, root x ^ 2 = g x - least.
Proof. intros. apply pow2_sqrt. pose proof (Least x). lra. Qed.

Lemma kept_at_center : kept center.
Proof.
  split; [| lra]. pose proof a_pos. pose proof (root_pos center). pose proof s2c.
  assert (Z : norm_of n (less center center) = 0).
  { unfold norm_of. rewrite dot_sum, (sum_ext n _ (fun _ => 0)), sum_const
      by (intros; unfold less; ring). rewrite Rmult_0_r. apply sqrt_0. }
  rewrite Z, Rplus_0_l. right. apply Rsqr_inj;
    [apply Rmult_le_pos; lra | apply sqrt_pos |].
  rewrite !Rsqr_pow2. unfold radius. rewrite pow2_sqrt.
  - rewrite Rpow_mult_distr, root_squared. unfold a.
    replace ((4 / sqrt (2 * c)) ^ 2) with (16 / sqrt (2 * c) ^ 2) by (field; lra).
    rewrite pow2_sqrt by lra. field. lra.
  - pose proof (Least center). unfold Rdiv. apply Rmult_le_pos; [lra |].
    left. apply Rinv_0_lt_compat. auto.
Qed.

Variable x : vector.
Hypothesis Kept : kept x.
Let N := norm_of n (G x).
Let at_ (s : R) := along x (G x) (- s).
Let phi (s : R) := g (at_ s).
Let phi' (s : R) := - dot n constant_one (G (at_ s)) (G x).
Let inside (s : R) := in_ball n center radius (at_ s).

Lemma phi_0 : phi 0 = g x.
Proof. unfold phi, at_. rewrite Ropp_0, along_0. auto. Qed.

Lemma slope_0 : phi' 0 = - N ^ 2.
Proof. unfold phi', at_. rewrite Ropp_0, along_0. unfold N. rewrite norm_squared. auto. Qed.

Lemma phi_slope : forall s, derivable_pt_lim phi s (phi' s).
Proof.
  intros s. unfold phi, phi', at_.
  replace (- dot n constant_one (G (along x (G x) (- s))) (G x))
    with (dot n constant_one (G (along x (G x) (- s))) (G x) * (- (1))) by ring.
  apply (derivable_pt_lim_comp (fun s => - s) (fun s => g (along x (G x) s))).
  - apply derivable_pt_lim_opp. apply derivable_pt_lim_id.
  - apply DG.
Qed.

Lemma x_in_ball : in_ball n center radius x.
Proof.
  destruct Kept as [K _]. unfold in_ball. pose proof a_pos. pose proof (root_pos x).
  assert (0 <= a * root x) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma N_above : sqrt (2 * c) * root x <= N.
Proof.
  apply below_root; [apply norm_pos |]. rewrite Rpow_mult_distr, root_squared, pow2_sqrt by lra.
  apply PL; [apply x_in_ball | apply Kept].
Qed.

Lemma inside_if : forall s, 0 <= s -> s * N <= a * root x -> inside s.
Proof.
  intros s Hs H. destruct Kept as [K _]. unfold inside, in_ball, at_.
  assert (E : less (along x (G x) (- s)) center = along (less x center) (G x) (- s)).
  { apply functional_extensionality. intros i. unfold less, along. ring. }
  rewrite E. eapply Rle_trans; [apply norm_along |]. rewrite Rabs_Ropp, Rabs_pos_eq by auto.
  fold N. lra.
Qed.

Lemma falls_in_ball : forall t, 0 <= t -> (forall s, 0 <= s <= t -> inside s /\ phi s <= g center) ->
  phi t <= g x - t * N ^ 2 + L / 2 * t ^ 2 * N ^ 2.
Proof.
  intros t Ht Hs. destruct (Req_dec t 0) as [Z | Z].
  { subst t. rewrite phi_0. replace (0 ^ 2) with 0 by ring. lra. }
  assert (N0 : 0 <= N) by apply norm_pos.
  assert (Up : forall s, 0 <= s <= t -> phi' s <= - N ^ 2 + L * s * N ^ 2).
  { intros s Hst. set (p := fun i => - s * G x i).
    assert (Seg : forall r, along x p r = at_ (r * s)).
    { intros r. apply functional_extensionality. intros i. unfold at_, along, p. ring. }
    pose proof (Sm x p) as S1. rewrite Seg, Rmult_1_l in S1.
    assert (S3 : forall r, 0 <= r <= 1 ->
      in_ball n center radius (along x p r) /\ g (along x p r) <= g center).
    { intros r Hr. rewrite Seg. apply (Hs (r * s)). nra. }
    specialize (S1 S3). unfold p in S1. rewrite norm_scaled, Rabs_Ropp, Rabs_pos_eq in S1 by lra.
    fold N in S1. set (d := less (G (at_ s)) (G x)) in *.
    assert (E : dot n constant_one (along (fun _ => 0) d (-1)) (G x) =
      phi' s + N ^ 2).
    { rewrite dot_sym, dot_along. unfold d. rewrite dot_less. unfold phi', N. rewrite norm_squared.
      rewrite (dot_sym n _ (G x) (G (at_ s))).
      assert (Z0 : dot n constant_one (G x) (fun _ => 0) = 0).
      { rewrite dot_sum, (sum_ext n _ (fun _ => 0)), sum_const by (intros; ring). ring. }
      rewrite Z0. ring. }
    pose proof (product_below n (along (fun _ => 0) d (-1)) (G x)) as C1. rewrite E in C1.
    assert (E2 : norm_of n (along (fun _ => 0) d (-1)) = norm_of n d).
    { unfold norm_of. f_equal. rewrite !dot_sum. apply sum_ext. intros. unfold along. ring. }
    rewrite E2 in C1. fold N in C1.
    assert (norm_of n d * N <= L * (s * N) * N) by (apply Rmult_le_compat_r; auto). lra. }
  destruct (MVT_cor2 (fun s => phi s - (- N ^ 2 * s + L / 2 * N ^ 2 * s ^ 2))
    (fun s => phi' s - (- N ^ 2 + L / 2 * N ^ 2 * (2 * s * 1))) 0 t ltac:(lra)) as [z [E Hz]].
  { intros s _. apply derivable_pt_lim_minus; [apply phi_slope |].
    apply derivable_pt_lim_plus.
    - pose proof (scaled_derivative (- N ^ 2) id s 1 (derivable_pt_lim_id s)) as Q.
      rewrite Rmult_1_r in Q. exact Q.
    - apply scaled_derivative. apply (square_derivative id). apply derivable_pt_lim_id. }
  rewrite phi_0 in E. replace (0 ^ 2) with 0 in E by ring.
  pose proof (Up z ltac:(lra)) as U.
  assert (D0 : (phi' z - (- N ^ 2 + L / 2 * N ^ 2 * (2 * z * 1))) * (t - 0) <= 0).
  { assert (phi' z - (- N ^ 2 + L / 2 * N ^ 2 * (2 * z * 1)) <= 0) by lra. nra. }
  lra.
Qed.

Lemma below_just_after : 0 < N -> exists d, 0 < d /\ forall s, 0 < s < d -> phi s < g x.
Proof.
  intros HN. assert (N2 : 0 < N ^ 2) by (apply pow_lt; auto).
  destruct (phi_slope 0 (N ^ 2) N2) as [d Hd]. exists d. split; [apply cond_pos |].
  intros s Hs. specialize (Hd s ltac:(lra)). rewrite Rabs_pos_eq in Hd by lra.
  specialize (Hd ltac:(lra)). rewrite Rplus_0_l, slope_0, phi_0 in Hd. apply Rabs_def2 in Hd.
  assert (Q : (phi s - g x) / s < 0) by lra.
  assert (phi s - g x = (phi s - g x) / s * s) by (field; lra). nra.
Qed.

Lemma level_if_inside : 0 < N -> forall e, 0 <= e <= 1 / L -> (forall s, 0 <= s <= e -> inside s) ->
  phi e <= g center.
Proof.
  intros HN e He In. destruct (Rle_lt_dec (phi e) (g center)) as [| Z]; auto. exfalso.
  destruct Kept as [_ Kg].
  destruct (first_exit phi phi' e (g center) phi_slope ltac:(lra)) as [T [Te [Upto [At After]]]];
    [rewrite phi_0; auto | auto |].
  pose proof (falls_in_ball T ltac:(lra) (fun s Hs => conj (In s ltac:(lra)) (Upto s Hs))) as F.
  assert (N2 : 0 < N ^ 2) by (apply pow_lt; auto).
  assert (TL : T * L <= 1).
  { assert (T <= 1 / L) by lra. apply Rmult_le_compat_r with (r := L) in H; [| lra].
    replace (1 / L * L) with 1 in H by (field; lra). auto. }
  assert (T0 : T = 0).
  { destruct (Req_dec T 0); auto. exfalso.
    assert (L / 2 * T ^ 2 * N ^ 2 <= T / 2 * N ^ 2) by
      (apply Rmult_le_compat_r; [lra |]; replace (L / 2 * T ^ 2) with (T / 2 * (T * L)) by field;
       nra).
    assert (0 < T / 2 * N ^ 2) by (apply Rmult_lt_0_compat; lra). lra. }
  subst T. destruct (below_just_after HN) as [d [Hd Hb]].
  destruct (After d Hd) as [s [Hs Hl]]. pose proof (Hb s ltac:(lra)). lra.
Qed.

Lemma short : 0 < N -> 1 / L * N <= a * root x.
Proof.
  intros HN. destruct (Rle_lt_dec (1 / L * N) (a * root x)) as [| Z]; auto. exfalso.
  pose proof a_pos as A0. pose proof (root_pos x) as R0. pose proof s2c as C0.
  set (s1 := a * root x / N).
  assert (E1 : s1 * N = a * root x) by (unfold s1; field; lra).
  assert (S0 : 0 <= s1).
  { unfold s1, Rdiv. apply Rmult_le_pos; [apply Rmult_le_pos; lra |].
    left. apply Rinv_0_lt_compat. auto. }
  assert (S1 : s1 < 1 / L) by nra.
  assert (SL : s1 * L < 1).
  { apply Rmult_lt_compat_r with (r := L) in S1; [| lra].
    replace (1 / L * L) with 1 in S1 by (field; lra). auto. }
  assert (In : forall s, 0 <= s <= s1 -> inside s).
  { intros s Hs. apply inside_if; [lra |]. rewrite <- E1. nra. }
  assert (Lev : forall s, 0 <= s <= s1 -> phi s <= g center).
  { intros s Hs. apply level_if_inside; [auto | lra |]. intros r Hr. apply In. lra. }
  pose proof (falls_in_ball s1 S0 (fun s Hs => conj (In s Hs) (Lev s Hs))) as F.
  pose proof (Least (at_ s1)) as Ls. fold (phi s1) in Ls. pose proof (root_squared x) as R2.
  pose proof N_above as Na.
  destruct (Req_dec (root x) 0) as [Z0 | Z0].
  - (* g x is least: nothing is below it *)
    destruct (below_just_after HN) as [d [Hd Hb]]. pose proof (Hb (d / 2) ltac:(lra)).
    pose proof (Least (at_ (d / 2))). fold (phi (d / 2)) in H0. rewrite Z0 in R2. lra.
  - assert (Rp : 0 < root x) by lra.
    assert (s1p : 0 < s1).
    { unfold s1. apply Rdiv_lt_0_compat; [apply Rmult_lt_0_compat; auto | auto]. }
    assert (E3 : L / 2 * s1 ^ 2 * N ^ 2 <= s1 / 2 * N ^ 2).
    { apply Rmult_le_compat_r; [apply pow2_ge_0 |].
      replace (L / 2 * s1 ^ 2) with (s1 / 2 * (s1 * L)) by field. nra. }
    assert (E4 : s1 / 2 * N ^ 2 <= root x ^ 2) by lra.
    assert (E5 : s1 / 2 * N ^ 2 = 2 * (root x * N / sqrt (2 * c))).
    { replace (s1 / 2 * N ^ 2) with (s1 * N * N / 2) by field. rewrite E1. unfold a. field. lra. }
    assert (E6 : root x * root x <= root x * N / sqrt (2 * c)).
    { apply Rmult_le_reg_r with (sqrt (2 * c)); [auto |].
      replace (root x * N / sqrt (2 * c) * sqrt (2 * c)) with (root x * N) by (field; lra). nra. }
    nra.
Qed.

Lemma next_kept : let y := along x (G x) (- (1 / L)) in
  kept y /\ norm_of n (less y x) <= a * (root x - root y) /\
  g y - least <= (1 - c / L) * (g x - least).
Proof.
  intros y. pose proof a_pos as A0. pose proof (root_pos x) as R0. pose proof s2c as C0.
  assert (H0 : 0 < 1 / L) by (apply Rdiv_lt_0_compat; lra).
  assert (N0 : 0 <= N) by apply norm_pos.
  assert (My : norm_of n (less y x) = 1 / L * N).
  { assert (E : less y x = (fun i => - (1 / L) * G x i)).
    { apply functional_extensionality. intros i. unfold y, less, along. ring. }
    rewrite E, norm_scaled, Rabs_Ropp, Rabs_pos_eq by lra. auto. }
  assert (Dy : norm_of n (less y center) <= norm_of n (less x center) + 1 / L * N).
  { assert (E : less y center = along (less x center) (G x) (- (1 / L))).
    { apply functional_extensionality. intros i. unfold y, less, along. ring. }
    rewrite E. eapply Rle_trans; [apply norm_along |].
    rewrite Rabs_Ropp, Rabs_pos_eq by lra. fold N. lra. }
  pose proof (root_squared x) as Rx. pose proof (root_squared y) as Ry.
  pose proof (root_pos y) as R1. pose proof N_above as Na. destruct Kept as [K1 K2].
  assert (F : g y <= g x - 1 / L / 2 * N ^ 2).
  { destruct N0 as [HN | HN].
    - assert (In : forall s, 0 <= s <= 1 / L -> inside s).
      { intros s Hs. apply inside_if; [lra |]. pose proof (short HN). nra. }
      assert (Lev : forall s, 0 <= s <= 1 / L -> phi s <= g center).
      { intros s Hs. apply level_if_inside; [auto | lra |]. intros r Hr. apply In. lra. }
      pose proof (falls_in_ball (1 / L) ltac:(lra) (fun s Hs => conj (In s Hs) (Lev s Hs))) as Q.
      change (phi (1 / L)) with (g y) in Q.
      replace (L / 2 * (1 / L) ^ 2 * N ^ 2) with (1 / L / 2 * N ^ 2) in Q by (field; lra). lra.
    - assert (Zr : root x = 0) by nra. rewrite <- HN.
      assert (Same : norm_of n (less y x) = 0) by (rewrite My, <- HN; ring).
      assert (Gz : forall s, phi' s = 0).
      { intros s. unfold phi'. pose proof (cauchy n constant_one (G (at_ s)) (G x) one_pos) as Q.
        rewrite <- (norm_squared n (G x)) in Q. fold N in Q. rewrite <- HN in Q.
        replace (0 ^ 2) with 0 in Q by ring. rewrite Rmult_0_r in Q.
        pose proof (pow2_ge_0 (dot n constant_one (G (at_ s)) (G x))). nra. }
      destruct (MVT_cor2 phi phi' 0 (1 / L) ltac:(lra)) as [z [E _]];
        [intros; apply phi_slope |]. rewrite Gz, phi_0 in E. change (phi (1 / L)) with (g y) in E.
      replace (0 ^ 2) with 0 by ring. lra. }
  assert (N2 : 0 <= N ^ 2) by apply pow2_ge_0.
  assert (Pl : 2 * c * root x ^ 2 <= N ^ 2).
  { replace (2 * c * root x ^ 2) with ((sqrt (2 * c) * root x) ^ 2).
    - apply pow_incr. split; [apply Rmult_le_pos; lra | auto].
    - rewrite Rpow_mult_distr, pow2_sqrt by lra. auto. }
  assert (Less : root y <= root x).
  { apply below_root; [auto |]. rewrite Rx, Ry. nra. }
  assert (Mv : 1 / L * N <= a * (root x - root y)).
  { destruct (Req_dec (root x) 0) as [Z | Z].
    - assert (Zy : root y = 0) by lra.
      assert (Q : 1 / L / 2 * N ^ 2 <= 0) by (rewrite Z in Rx; pose proof (Least y); lra).
      assert (Zn : N ^ 2 = 0) by nra. assert (Nz : N = 0) by nra. rewrite Nz, Z, Zy. lra.
    - assert (Q : 1 / L / 2 * N ^ 2 <= (root x - root y) * (2 * root x)) by nra.
      assert (Q2 : 1 / L * N * (sqrt (2 * c) * root x) <= 4 * (root x - root y) * root x).
      { assert (1 / L * N * (sqrt (2 * c) * root x) <= 1 / L * N * N)
          by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | auto]). lra. }
      unfold a. apply Rmult_le_reg_r with (sqrt (2 * c) * root x);
        [apply Rmult_lt_0_compat; lra |].
      replace (4 / sqrt (2 * c) * (root x - root y) * (sqrt (2 * c) * root x))
        with (4 * (root x - root y) * root x) by (field; lra). exact Q2. }
  split; [| split].
  - split; [lra | nra].
  - rewrite My. exact Mv.
  - rewrite <- Rx. assert (Q3 : 1 / L / 2 * (2 * c * root x ^ 2) <= 1 / L / 2 * N ^ 2)
      by (apply Rmult_le_compat_l; lra).
    replace (1 / L / 2 * (2 * c * root x ^ 2)) with (c / L * root x ^ 2) in Q3 by (field; lra).
    lra.
Qed.
End Step.

(* --- all steps *)
Section Limit.
Variables (n : nat) (g : vector -> R) (G : vector -> vector) (least c L : R) (center : vector).
Hypothesis DG : gradient_of_g n constant_one g G.
Hypothesis Least : forall x, least <= g x.
Hypotheses (Hc : 0 < c) (HL : 0 < L).
Let radius := sqrt (8 * (g center - least) / c).
Hypothesis PL : forall x, in_ball n center radius x -> g x <= g center ->
  2 * c * (g x - least) <= norm_of n (G x) ^ 2.
Hypothesis Sm : smooth_in_ball n g L center radius G.
Hypothesis Co : continuous_in n g.

Let u := iterate L G center.
Let root (t : nat) := sqrt (g (u t) - least).
Let a := 4 / sqrt (2 * c).

Lemma all_kept : forall t, kept n g least c center (u t).
Proof.
  induction t; [apply kept_at_center; auto |].
  destruct (next_kept n g G least c L center DG Least Hc HL PL Sm (u t) IHt) as [K _]. exact K.
Qed.

Lemma moves : forall t, norm_of n (less (u (S t)) (u t)) <= a * (root t - root (S t)) /\
  g (u (S t)) - least <= (1 - c / L) * (g (u t) - least).
Proof.
  intros t. destruct (next_kept n g G least c L center DG Least Hc HL PL Sm (u t) (all_kept t))
    as [_ [M R]]. split; [exact M | exact R].
Qed.

Let ratio := Rmax 0 (1 - c / L).

Lemma ratio_in : 0 <= ratio < 1.
Proof.
  unfold ratio. split; [apply Rmax_l |]. apply Rmax_lub_lt; [lra |].
  assert (0 < c / L) by (apply Rdiv_lt_0_compat; auto). lra.
Qed.

Lemma gaps_fall : forall t, g (u t) - least <= ratio ^ t * (g center - least).
Proof.
  pose proof ratio_in as R. induction t; [simpl; unfold u; simpl; lra |].
  destruct (moves t) as [_ M]. pose proof (Least (u t)). eapply Rle_trans; [exact M |].
  simpl pow. rewrite Rmult_assoc. apply Rle_trans with (ratio * (g (u t) - least)).
  - apply Rmult_le_compat_r; [lra | apply Rmax_r].
  - apply Rmult_le_compat_l; lra.
Qed.

Lemma linear : forall t, g (u t) - least <= (1 - c / L) ^ t * (g center - least).
Proof.
  induction t; [simpl; unfold u; simpl; lra |]. destruct (moves t) as [_ M].
  pose proof (Least (u t)). pose proof (Least (u (S t))).
  destruct (Rle_lt_dec 0 (1 - c / L)) as [P | P].
  - eapply Rle_trans; [exact M |]. simpl pow. rewrite Rmult_assoc. apply Rmult_le_compat_l; auto.
  - (* then the first step reaches the least value *)
    destruct (moves 0) as [_ M0]. change (u 0) with center in M0.
    pose proof (Least center). pose proof (Least (u 1)).
    assert (Z : g center - least = 0) by nra.
    assert (Z1 : g (u t) - least = 0) by (rewrite Z, Rmult_0_r in IHt; lra).
    rewrite Z1, Rmult_0_r in M. rewrite Z, Rmult_0_r. exact M.
Qed.

Lemma far_moves : forall s t, norm_of n (less (u (t + s)) (u t)) <= a * (root t - root (t + s)).
Proof.
  induction s; intros t.
  - rewrite Nat.add_0_r. unfold norm_of.
    rewrite dot_sum, (sum_ext n _ (fun _ => 0)), sum_const by (intros; unfold less; ring).
    rewrite Rmult_0_r, sqrt_0. lra.
  - rewrite Nat.add_succ_r. destruct (moves (t + s)) as [M _]. pose proof (IHs t) as I.
    assert (E : less (u (S (t + s))) (u t) =
      along (less (u (t + s)) (u t)) (less (u (S (t + s))) (u (t + s))) 1).
    { apply functional_extensionality. intros i. unfold less, along. ring. }
    rewrite E. eapply Rle_trans; [apply norm_along |]. rewrite Rabs_R1. lra.
Qed.

Lemma root_vanishes : forall eps, 0 < eps -> exists T, forall t, (T <= t)%nat -> a * root t < eps.
Proof.
  intros eps He. assert (A0 : 0 < a) by (apply a_pos; auto).
  assert (Q : 0 < (eps / a) ^ 2) by (apply pow_lt; apply Rdiv_lt_0_compat; auto).
  destruct (powers_vanish ratio ratio_in (g center - least) _ Q) as [T H]. exists T. intros t Ht.
  specialize (H t Ht). pose proof (gaps_fall t) as Gf. pose proof (Least (u t)).
  assert (R2 : root t ^ 2 = g (u t) - least) by (apply pow2_sqrt; lra).
  assert (0 <= root t) by apply sqrt_pos. assert (0 < eps / a) by (apply Rdiv_lt_0_compat; auto).
  assert (root t < eps / a) by nra.
  replace eps with (a * (eps / a)) by (field; lra). apply Rmult_lt_compat_l; auto.
Qed.

Lemma limits : forall i, { l | (i < n)%nat -> Un_cv (fun t => u t i) l }.
Proof.
  intros i. destruct (lt_dec i n) as [Hi | Hi]; [| exists 0; intros; lia].
  destruct (R_complete (fun t => u t i)) as [l Hl]; [| exists l; auto].
  intros eps He. destruct (root_vanishes eps He) as [T HT]. exists T.
  assert (Far : forall t s, (T <= t)%nat -> Rabs (u (t + s) i - u t i) < eps).
  { intros t s Ht. pose proof (entry_below_norm n (less (u (t + s)) (u t)) i Hi) as B.
    unfold less at 1 in B. pose proof (far_moves s t). pose proof (HT t Ht).
    assert (A0 : 0 < a) by (apply a_pos; auto).
    assert (0 <= root (t + s)) by apply sqrt_pos.
    assert (0 <= a * root (t + s)) by (apply Rmult_le_pos; lra). lra. }
  intros k m Hk Hm. unfold R_dist. destruct (le_lt_dec m k) as [E | E].
  - replace k with (m + (k - m))%nat by lia. apply Far. auto.
  - rewrite Rabs_minus_sym. replace m with (k + (m - k))%nat by lia. apply Far. auto.
Qed.

Lemma reaches : exists l, tends n u l /\ g l = least.
Proof.
  exists (fun i => proj1_sig (limits i)). set (l := fun i => proj1_sig (limits i)).
  assert (Tl : tends n u l) by (intros i Hi; exact (proj2_sig (limits i) Hi)).
  split; [exact Tl |]. apply (UL_sequence (fun t => g (u t))); [apply Co; exact Tl |].
  intros eps He. destruct (powers_vanish ratio ratio_in (g center - least) eps He) as [T H].
  exists T. intros t Ht. specialize (H t Ht). pose proof (gaps_fall t). pose proof (Least (u t)).
  unfold R_dist. rewrite Rabs_pos_eq; lra.
Qed.
End Limit.

Theorem theorem_13_holds : theorem_13.
Proof.
  intros D alpha c n outputs J mu L theta C S A risk G radius Pc Hmu Hc HL HJ Co Cond Sm.
  assert (DG : gradient_of_g n constant_one risk G) by (apply theta_gradient; auto).
  assert (Least : forall t, entropy D <= risk t).
  { intros t. pose proof (gap_pos D C S (outputs t)) as P. unfold gap in P. unfold risk. lra. }
  assert (Hmc : 0 < mu * c) by (apply Rmult_lt_0_compat; auto).
  assert (PL : forall t, in_ball n theta radius t -> risk t <= risk theta ->
    2 * (mu * c) * (risk t - entropy D) <= norm_of n (G t) ^ 2).
  { intros t Ht Hr. rewrite norm_squared.
    pose proof (theta_pl D C S alpha (risk theta - entropy D) c n outputs J mu t A Pc ltac:(lra)
      (Cond t Ht)) as Q. unfold gap in Q. fold (risk t) in Q. specialize (Q ltac:(lra)).
    cbv zeta in Q. fold (G t) in Q. lra. }
  split.
  - intros t. split.
    + destruct (all_kept n risk G (entropy D) (mu * c) L theta DG Least Hmc HL PL Sm t) as [K _].
      unfold in_ball, radius. eapply Rle_trans; [| exact K].
      assert (0 <= 4 / sqrt (2 * (mu * c)) * sqrt (risk (iterate L G theta t) - entropy D)).
      { apply Rmult_le_pos; [left; apply (a_pos (mu * c)); auto | apply sqrt_pos]. }
      lra.
    + apply (linear n risk G (entropy D) (mu * c) L theta DG Least Hmc HL PL Sm t).
  - apply (reaches n risk G (entropy D) (mu * c) L theta DG Least Hmc HL PL Sm Co).
Qed.

Print Assumptions theorem_13_holds.
