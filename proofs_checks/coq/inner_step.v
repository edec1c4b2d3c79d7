(* Theorem 15 of corrected.md: GLADIUS with tables, where zeta and the level of Q are solved for and the
   rest of Q descends with zeta fixed. What a moving class of zeta adds, and what the ends of paths do. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient pl positive level_risk minimax saddle.
Open Scope R_scope.

(* --- statements *)

(* At the anchor's pair of each state zeta is the least-squares fit of V at the states that follow. *)
Definition least_squares (D : data) (q zeta : vector) := forall x, (x < states D)%nat -> forall z,
  let loss := fun z => sum (all_states D) (fun y =>
    count D x (anchor D x) y * (value (actions D) q y - z) ^ 2) in
  loss (zeta x) <= loss z.
Definition is_mean (D : data) (q zeta : vector) := forall x, (x < states D)%nat -> zeta x = PV D q x.

(* The regression is the conditional mean, and the maximum over zeta, which is g. *)
Definition inner_step := forall D q zeta, counts D -> condition_S D ->
  (least_squares D q zeta <-> is_mean D q zeta) /\
  (is_mean D q zeta -> (forall z, f D q z <= f D q zeta) /\ f D q zeta = g D q).

(* After it, the derivative in Q with zeta fixed is that of g, along any curve of tables. *)
Definition envelope := forall D u u' s zeta, counts D -> condition_S D -> curve u s u' ->
  is_mean D (u s) zeta -> exists l, derivable_pt_lim (fun t => f D (u t) zeta) s l /\
  derivable_pt_lim (fun t => g D (u t)) s l.

(* Q - r - beta zeta at the anchor, and its sum over anchor observations, divided by all *)
Definition anchor_gap (D : data) (q zeta : vector) (x : nat) :=
  q (pair (actions D) x (anchor D x)) - reward D x - beta D * zeta x.
Definition gaps (D : data) (q zeta : vector) :=
  sum (states D) (fun x => b D x * anchor_gap D q zeta x).

(* The level: Q is moved by minus the mean gap over 1 - beta. The likelihood does not change, g is least
   there among all shifts, and with zeta solved for again the gaps add up to 0. *)
Definition level_step := forall D q, counts D -> condition_S D ->
  let c := - (gaps D q (PV D q) / share D) / (1 - beta D) in
  (forall t, nll D (shifted q t) = nll D q) /\
  (forall t, g D (shifted q t) = g D (shifted q c) + share D * ((1 - beta D) * (t - c)) ^ 2) /\
  gaps D (shifted q c) (PV D (shifted q c)) = 0.

(* All three steps stand still: the regression, the level, and descent in Q with zeta fixed. *)
Definition fixed_point (D : data) (q zeta : vector) := least_squares D q zeta /\
  gaps D q zeta = 0 /\ forall p, derivable_pt_lim (fun s => f D (along q p s) zeta) 0 0.
(* Then g has no slope. Under (F) there is one such table: where the choices are the frequencies, and
   the anchor's Bellman equation holds. In the population that is Q* (`lemma_1`). *)
Definition fixed_points := forall D q zeta, counts D -> condition_S D ->
  (fixed_point D q zeta -> forall u u' s, u s = q -> curve u s u' ->
    derivable_pt_lim (fun t => g D (u t)) s 0) /\
  (condition_F D -> (fixed_point D q zeta <-> solution D q /\ is_mean D q zeta)).

(* A class of zeta that moves with Q: n features h with weights v, which are best at s. *)
Definition combined (n : nat) (v : vector) (h : nat -> vector) : vector :=
  fun x => sum n (fun k => v k * h k x).
Definition moving_class := forall D n u u' v v' (h : R -> nat -> vector) h' s,
  counts D -> condition_S D -> curve u s u' -> curve v s v' ->
  (forall k, curve (fun t => h t k) s (h' k)) ->
  let zeta := fun t => combined n (v t) (h t) in
  (forall other, f D (u s) (combined n other (h s)) <= f D (u s) (zeta s)) ->
  derivable_pt_lim (fun t => f D (u t) (zeta t)) s
    (sum (states D) (fun x => sum (actions D) (fun k =>
      slope_f D (u s) (zeta s) x k * u' (pair (actions D) x k))) +
    2 * beta D ^ 2 * sum (states D) (fun x =>
      b D x * (PV D (u s) x - zeta s x) * combined n (v s) h' x)).

(* Where paths end, V is 0 there and does not shift. Of the anchor's observations in state x a share k x
   goes on, so that a shift c takes (1 - beta k x) c from the residual e x. The shift at which the residuals
   add up to 0 is then not the one with the least squares, unless all k x are equal. *)
Definition level_with_ends := forall n (b e k : vector) beta, 0 <= beta < 1 -> 0 < sum n b ->
  (forall x, (x < n)%nat -> 0 <= b x /\ 0 <= k x <= 1) ->
  let m := fun x => 1 - beta * k x in
  let squares := fun c => sum n (fun x => b x * (e x - m x * c) ^ 2) in
  let c := sum n (fun x => b x * e x) / sum n (fun x => b x * m x) in
  sum n (fun x => b x * (e x - m x * c)) = 0 /\
  (forall t, (forall t', squares t <= squares t') <-> sum n (fun x => b x * m x * (e x - m x * t)) = 0) /\
  ((forall x y, k x = k y) -> forall t, squares c <= squares t).

(* --- proofs *)
Lemma no_slope_at_least : forall A B, (forall t, 0 <= t ^ 2 * B - 2 * t * A) -> A = 0.
Proof.
  intros A B H. destruct (Req_dec A 0) as [Z | Z]; auto. exfalso.
  set (d := B ^ 2 + 1). assert (D0 : 0 < d) by (unfold d; nra).
  pose proof (H (A / d)) as Q.
  assert (E : (A / d) ^ 2 * B - 2 * (A / d) * A = (A / d) ^ 2 * (B - 2 * d)) by (field; lra).
  rewrite E in Q. assert (0 < (A / d) ^ 2).
  { rewrite <- Rsqr_pow2. apply Rsqr_pos_lt. unfold Rdiv. apply Rmult_integral_contrapositive.
    split; [auto | apply Rinv_neq_0_compat; lra]. }
  assert (B - 2 * d < 0) by (unfold d; nra). nra.
Qed.

Section Proof.
Variable D : data.
Local Notation X := (states D).
Local Notation K := (actions D).
Local Notation Y := (all_states D).
Hypothesis C : counts D.
Hypothesis S : condition_S D.

Lemma loss_is : forall q x z, (x < X)%nat ->
  sum Y (fun y => count D x (anchor D x) y * (value K q y - z) ^ 2) =
  sum Y (fun y => count D x (anchor D x) y * (value K q y - PV D q x) ^ 2) +
  taken D x (anchor D x) * (z - PV D q x) ^ 2.
Proof.
  intros q x z Hx. rewrite !(anchor_moves D C S x) by auto. rewrite <- Rmult_plus_distr_l. f_equal.
  rewrite (sum_ext X _ (fun y => P D x y * (value K q y - PV D q x) ^ 2 +
    (2 * (PV D q x - z) * (P D x y * value K q y) + (z ^ 2 - PV D q x ^ 2) * P D x y)))
    by (intros; ring).
  rewrite !sum_plus, !sum_scal, P_sum by auto. fold (ahead X K (P D) q x). fold (PV D q x).
  unfold PV at 3, ahead. fold (ahead X K (P D) q x). fold (PV D q x). ring.
Qed.

Lemma squares_are_mean : forall q zeta, least_squares D q zeta <-> is_mean D q zeta.
Proof.
  intros q zeta. split; intros H x Hx; destruct (S x Hx) as [T _].
  - pose proof (H x Hx (PV D q x)) as Q. cbv beta zeta in Q. rewrite (loss_is q x (zeta x) Hx) in Q.
    assert (0 <= (zeta x - PV D q x) ^ 2) by apply pow2_ge_0.
    assert ((zeta x - PV D q x) ^ 2 = 0) by nra.
    assert (zeta x - PV D q x = 0); [| lra].
    apply Rsqr_0_uniq. rewrite Rsqr_pow2. auto.
  - intros z loss. unfold loss. rewrite (loss_is q x z Hx), (H x Hx).
    assert (0 <= taken D x (anchor D x) * (z - PV D q x) ^ 2)
      by (apply Rmult_le_pos; [lra | apply pow2_ge_0]). lra.
Qed.

Lemma f_of_mean : forall q r zeta, is_mean D q zeta -> f D r zeta = f D r (PV D q).
Proof.
  intros q r zeta H. rewrite !f_is by auto. f_equal. apply sum_ext. intros x Hx. rewrite H; auto.
Qed.

Lemma slope_of_mean : forall q zeta x k, is_mean D q zeta -> slope_f D q zeta x k = slope_g D q x k.
Proof.
  intros q zeta x k H. unfold slope_f. rewrite (sum_ext X _ (fun _ => 0)), sum_const; [ring |].
  intros j Hj. rewrite H by auto. ring.
Qed.

Lemma gaps_are : forall q zeta, is_mean D q zeta ->
  gaps D q zeta = - sum X (fun x => b D x * residual D q x).
Proof.
  intros q zeta H. unfold gaps. rewrite <- (Rmult_1_l (sum X (fun x => b D x * residual D q x))).
  rewrite <- Ropp_mult_distr_l_reverse, <- sum_scal. apply sum_ext. intros x Hx.
  unfold anchor_gap, residual. rewrite H by auto. ring.
Qed.

Lemma residual_shift : forall q c x, (x < X)%nat ->
  residual D (shifted q c) x = residual D q x - (1 - beta D) * c.
Proof.
  intros q c x Hx. unfold residual. rewrite PV_shift by auto. unfold shifted. ring.
Qed.

Lemma nll_shift : forall q t, nll D (shifted q t) = nll D q.
Proof.
  intros q t. unfold nll. apply sum_ext. intros. f_equal. apply sum_ext. intros.
  rewrite choice_shift by (apply actions_pos; auto). auto.
Qed.

Lemma g_shift : forall q t, g D (shifted q t) = g D q -
  2 * ((1 - beta D) * t) * sum X (fun x => b D x * residual D q x) +
  share D * ((1 - beta D) * t) ^ 2.
Proof.
  intros q t. rewrite !g_is, nll_shift by auto.
  rewrite (sum_ext X (fun x => b D x * residual D (shifted q t) x ^ 2) (fun x =>
    b D x * residual D q x ^ 2 + (- 2 * ((1 - beta D) * t) * (b D x * residual D q x) +
    ((1 - beta D) * t) ^ 2 * b D x))) by (intros; rewrite residual_shift by auto; ring).
  rewrite !sum_plus, !sum_scal. unfold share. ring.
Qed.
End Proof.

Theorem inner_step_holds : inner_step.
Proof.
  intros D q zeta C S. split; [apply squares_are_mean; auto |]. intros H.
  destruct (profile_over_zeta_holds D C S q (PV D q)) as [_ [_ E]].
  assert (Z : f D q zeta = g D q) by (rewrite (f_of_mean D C S q) by auto; exact E).
  split; [| auto]. intros z. rewrite Z. apply (profile_over_zeta_holds D C S q z).
Qed.

Theorem envelope_holds : envelope.
Proof.
  intros D u u' s zeta C S U H. destruct (the_slopes_hold D C S u u' s U) as [G F]. eexists.
  split; [apply F |]. erewrite sum2_ext; [exact G |]. intros. cbv beta.
  rewrite slope_of_mean by auto. reflexivity.
Qed.

Theorem level_step_holds : level_step.
Proof.
  intros D q C S c. pose proof (share_pos D C S) as Sh.
  assert (B : 1 - beta D <> 0) by (destruct C as [_ [_ [_ [_ Hb]]]]; lra).
  set (T := sum (states D) (fun x => b D x * residual D q x)).
  assert (M : forall r, is_mean D r (PV D r)) by (intros r x Hx; auto).
  assert (Ec : share D * ((1 - beta D) * c) = T).
  { unfold c. rewrite gaps_are by auto. fold T. field. split; lra. }
  split; [apply nll_shift; auto |]. split.
  - intros t. rewrite (g_shift D C S q t), (g_shift D C S q c). fold T. rewrite <- Ec. ring.
  - rewrite gaps_are by auto.
    rewrite (sum_ext _ _ (fun x => b D x * residual D q x + - ((1 - beta D) * c) * b D x))
      by (intros; rewrite residual_shift by auto; ring).
    rewrite sum_plus, sum_scal. fold T. fold (share D). rewrite <- Ec. ring.
Qed.

Theorem fixed_points_hold : fixed_points.
Proof.
  intros D q zeta C S.
  assert (A : fixed_point D q zeta -> forall u u' s, u s = q -> curve u s u' ->
    derivable_pt_lim (fun t => g D (u t)) s 0).
  { intros [L [_ St]] u u' s E U. apply squares_are_mean in L; auto.
    destruct (the_slopes_hold D C S u u' s U) as [G _]. rewrite E in G.
    pose proof (St u') as Q. destruct (the_slopes_hold D C S (along q u') u' 0 (line q u' 0)) as [_ F].
    specialize (F zeta). rewrite along_0 in F.
    rewrite (uniqueness_limite _ _ _ _ Q F).
    erewrite sum2_ext; [exact G |]. intros. cbv beta. rewrite slope_of_mean by auto. reflexivity. }
  split; [exact A |]. intros Fc. split.
  - intros H. destruct H as [L H]. pose proof L as M. apply squares_are_mean in M; auto.
    split; [| auto].
    assert (Z : forall x k, (x < states D)%nat -> (k < actions D)%nat -> slope_g D q x k = 0).
    { intros x k Hx Hk. set (p := fun i => one i (pair (actions D) x k)).
      pose proof (A (conj L H) (along q p) p 0 (along_0 q p) (line q p 0)) as Q.
      destruct (the_slopes_hold D C S (along q p) p 0 (line q p 0)) as [G _].
      rewrite along_0 in G. pose proof (uniqueness_limite _ _ _ _ Q G) as E.
      rewrite (sum2_ext _ _ _ (fun y l => p (pair (actions D) y l) *
        table (actions D) (slope_g D q) (pair (actions D) y l))) in E
        by (intros; rewrite table_pair by auto; ring).
      rewrite <- (sum_pairs (states D) (actions D) (fun i => p i * table (actions D) (slope_g D q) i)) in E.
      unfold p in E. rewrite sum_one in E; [rewrite table_pair in E; auto |].
      unfold pair. nia. }
    set (Delta := g D q - entropy D). assert (D0 : 0 <= Delta) by (apply (gap_pos D C S q)).
    destruct (pl_on_sublevel_sets_holds D Delta C S Fc D0) as [c [Hc B]].
    specialize (B q (Rle_refl _)).
    assert (Sz : size D constant_one (slope_g D q) = 0).
    { unfold size. rewrite (sum2_ext _ _ _ (fun _ _ => 0)).
      - rewrite (sum_ext _ _ (fun _ => 0)), sum_const; [ring |]. intros. rewrite sum_const. ring.
      - intros x k Hx Hk. rewrite Z by auto. unfold constant_one. field. }
    rewrite Sz in B. fold Delta in B. assert (E : Delta = 0) by nra.
    destruct (there_is_one D C S Fc) as [star Hs].
    apply (solution_same D C q star); [| exact Hs]. apply (least_only_at D C S Fc); [exact Hs |].
    intros r. pose proof (gap_pos D C S r) as R. unfold gap in R. unfold Delta in E. lra.
  - intros [Sq M]. split; [apply squares_are_mean; auto |]. split.
    + rewrite gaps_are by auto. rewrite (sum_ext _ _ (fun _ => 0)), sum_const; [ring |].
      intros x Hx. destruct (Sq x Hx) as [R _]. rewrite R. ring.
    + intros p. destruct (stationary_holds D q C S Sq) as [St _].
      assert (E : (fun s => f D (along q p s) zeta) = (fun s => f D (along q p s) (PV D q))).
      { apply functional_extensionality. intros s. apply f_of_mean; auto. }
      rewrite E. apply St.
Qed.

Lemma combined_curve : forall n v v' (h : R -> nat -> vector) h' s x, curve v s v' ->
  (forall k, curve (fun t => h t k) s (h' k)) ->
  derivable_pt_lim (fun t => combined n (v t) (h t) x) s
    (combined n v' (h s) x + combined n (v s) h' x).
Proof.
  intros n v v' h h' s x V H. unfold combined. rewrite <- sum_plus.
  apply (sum_derivative n (fun t k => v t k * h t k x)). intros k.
  apply (derivable_pt_lim_mult (fun t => v t k) (fun t => h t k x)); [apply V | apply H].
Qed.

Theorem moving_class_holds : moving_class.
Proof.
  intros D n u u' v v' h h' s C S U V H zeta Best.
  set (X := states D). set (off_ := fun t x => zeta t x - PV D (u t) x).
  set (zeta' := fun x => combined n v' (h s) x + combined n (v s) h' x).
  (* the normal equations: what the weights add vanishes *)
  assert (Normal : forall w, beta D ^ 2 * sum X (fun x => b D x * off_ s x * combined n w (h s) x) = 0).
  { intros w. set (z := combined n w (h s)).
    apply (no_slope_at_least _ (beta D ^ 2 * sum X (fun x => b D x * z x ^ 2))). intros t.
    pose proof (Best (fun k => v s k - t * w k)) as Q.
    destruct (profile_over_zeta_holds D C S (u s) (zeta s)) as [E1 _].
    destruct (profile_over_zeta_holds D C S (u s) (combined n (fun k => v s k - t * w k) (h s)))
      as [E2 _].
    rewrite E1, E2, !dot_square in Q. fold X in Q.
    assert (Z : forall x, combined n (fun k => v s k - t * w k) (h s) x = zeta s x - t * z x).
    { intros x. unfold zeta, z, combined.
      rewrite (sum_ext n _ (fun k => v s k * h s k x + - t * (w k * h s k x))) by (intros; ring).
      rewrite sum_plus, sum_scal. ring. }
    rewrite (sum_ext X (fun i => b D i * off D (u s) (combined n (fun k => v s k - t * w k) (h s)) i ^ 2)
      (fun x => b D x * off D (u s) (zeta s) x ^ 2 + (- 2 * t * (b D x * off_ s x * z x) +
        t ^ 2 * (b D x * z x ^ 2)))) in Q.
    - rewrite !sum_plus, !sum_scal in Q.
      set (A := sum X (fun x => b D x * off_ s x * z x)) in *.
      set (B := sum X (fun x => b D x * z x ^ 2)) in *. nra.
    - intros x _. unfold off, less, off_. rewrite Z. ring. }
  assert (E : (fun t => f D (u t) (zeta t)) =
    (fun t => g D (u t) - beta D ^ 2 * sum X (fun x => b D x * off_ t x ^ 2))).
  { apply functional_extensionality. intros t.
    destruct (profile_over_zeta_holds D C S (u t) (zeta t)) as [E _]. rewrite E, dot_square. reflexivity. }
  rewrite E. destruct (the_slopes_hold D C S u u' s U) as [G _].
  assert (Dz : derivable_pt_lim (fun t => beta D ^ 2 * sum X (fun x => b D x * off_ t x ^ 2)) s
    (beta D ^ 2 * sum X (fun x => b D x * (2 * off_ s x *
      (zeta' x - slope X (actions D) (P D) (u s) u' x))))).
  { apply scaled_derivative. apply (sum_derivative X (fun t x => b D x * off_ t x ^ 2)). intros x.
    apply scaled_derivative. apply (square_derivative (fun t => off_ t x)). unfold off_.
    apply derivable_pt_lim_minus; [apply combined_curve; auto |].
    apply ahead_curve; [apply actions_pos; auto | auto]. }
  pose proof (derivable_pt_lim_minus _ _ _ _ _ G Dz) as R.
  match type of R with derivable_pt_lim _ _ ?l => match goal with |- derivable_pt_lim _ _ ?m =>
    replace m with l; [exact R |] end end.
  fold X.
  rewrite (sum2_ext X (actions D) (fun x k => slope_f D (u s) (zeta s) x k * u' (pair (actions D) x k))
    (fun x k => slope_g D (u s) x k * u' (pair (actions D) x k) + 2 * beta D ^ 2 *
      (sum X (fun j => b D j * off_ s j * P D j x) * choice (actions D) (u s) x k *
        u' (pair (actions D) x k)))) by (intros; unfold slope_f, off_; fold X; ring).
  rewrite sum2_plus, sum2_scal.
  pose proof (slope_transposed D (u s) u' (fun j => b D j * off_ s j)) as Tr. cbv beta in Tr. fold X in Tr.
  rewrite <- Tr.
  rewrite (sum_ext X (fun x => b D x * (2 * off_ s x * _)) (fun x =>
    2 * (b D x * off_ s x * combined n v' (h s) x) +
    (2 * (b D x * off_ s x * combined n (v s) h' x) +
    -2 * (b D x * off_ s x * slope X (actions D) (P D) (u s) u' x)))) by (intros; unfold zeta'; ring).
  rewrite !sum_plus, !sum_scal. pose proof (Normal v') as N1.
  rewrite (sum_ext X (fun x => b D x * (PV D (u s) x - zeta s x) * combined n (v s) h' x)
    (fun x => -1 * (b D x * off_ s x * combined n (v s) h' x))) by (intros; unfold off_; ring).
  rewrite sum_scal. set (A := sum X (fun x => b D x * off_ s x * combined n v' (h s) x)) in *.
  lra.
Qed.

Theorem level_with_ends_holds : level_with_ends.
Proof.
  intros n b e k beta Hb B0 H m squares c.
  assert (Mp : forall x, (x < n)%nat -> 1 - beta <= m x).
  { intros x Hx. destruct (H x Hx) as [_ Hk]. unfold m. nra. }
  assert (M0 : 0 < sum n (fun x => b x * m x)).
  { apply Rlt_le_trans with ((1 - beta) * sum n b); [apply Rmult_lt_0_compat; lra |].
    rewrite <- sum_scal. apply sum_le. intros x Hx. pose proof (Mp x Hx). destruct (H x Hx). nra. }
  set (slope_ := fun t => sum n (fun x => b x * m x * (e x - m x * t))).
  set (curved := sum n (fun x => b x * m x ^ 2)).
  assert (C0 : 0 <= curved).
  { apply sum_pos. intros x Hx. apply Rmult_le_pos; [apply H; auto | apply pow2_ge_0]. }
  assert (E : forall t d, squares (t + d) = squares t + (d ^ 2 * curved - 2 * d * slope_ t)).
  { intros t d. unfold squares, curved, slope_.
    rewrite (sum_ext n _ (fun x => b x * (e x - m x * t) ^ 2 + (d ^ 2 * (b x * m x ^ 2) +
      -2 * d * (b x * m x * (e x - m x * t))))) by (intros; ring).
    rewrite !sum_plus, !sum_scal. ring. }
  assert (Iff : forall t, (forall t', squares t <= squares t') <-> slope_ t = 0).
  { intros t. split.
    - intros L. apply (no_slope_at_least _ curved). intros d. pose proof (L (t + d)) as Q.
      rewrite E in Q. lra.
    - intros Z t'. replace t' with (t + (t' - t)) by ring. rewrite E, Z.
      assert (0 <= (t' - t) ^ 2 * curved) by (apply Rmult_le_pos; [apply pow2_ge_0 | auto]). lra. }
  assert (Sum0 : sum n (fun x => b x * (e x - m x * c)) = 0).
  { rewrite (sum_ext n _ (fun x => b x * e x + - c * (b x * m x))) by (intros; ring).
    rewrite sum_plus, sum_scal. unfold c. field. lra. }
  split; [exact Sum0 |]. split; [exact Iff |]. intros Same. apply Iff. unfold slope_.
  rewrite (sum_ext n _ (fun x => m O * (b x * (e x - m x * c)))).
  - rewrite sum_scal, Sum0. ring.
  - intros x _. unfold m. rewrite (Same O x). ring.
Qed.

Print Assumptions inner_step_holds.
Print Assumptions envelope_holds.
Print Assumptions level_step_holds.
Print Assumptions fixed_points_hold.
Print Assumptions moving_class_holds.
Print Assumptions level_with_ends_holds.
