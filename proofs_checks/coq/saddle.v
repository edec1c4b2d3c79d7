(* E1 to E3: for beta > 1/2 the paper's min-max objective over tables has no saddle point, and at its
   solution no PL inequality in Q holds on any ball, with no constant. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient pl level level_risk minimax.
Open Scope R_scope.

(* --- statements: zeta* is P V_Q, the best response *)
Definition parabola := forall D q c, counts D -> condition_S D -> no_residual D q ->
  f D (shifted q c) (PV D q) = f D q (PV D q) + share D * ((1 - 2 * beta D) * c ^ 2) /\ 0 < share D.

Definition unbounded_below := forall D q, counts D -> condition_S D -> no_residual D q ->
  1 / 2 < beta D -> forall M, exists c, f D (shifted q c) (PV D q) < M.

(* The solution is stationary: no slope in Q in any direction, and none in zeta. *)
Definition stationary := forall D q, counts D -> condition_S D -> solution D q ->
  (forall p, derivable_pt_lim (fun s => f D (along q p s) (PV D q)) 0 0) /\
  (forall p, derivable_pt_lim (fun s => f D q (along (PV D q) p s)) 0 0).

(* At the solution, zeta fixed: whatever the ball, mu, and the least value there or any number that is
   below, (1/2) |G|^2 >= mu (f - least) fails, G the gradient in Q. *)
Definition no_pl_in_q := forall D q radius mu least G, counts D -> condition_S D -> solution D q ->
  1 / 2 < beta D -> 0 < radius -> 0 < mu ->
  let pairs := (states D * actions D)%nat in
  (forall p, derivable_pt_lim (fun s => f D (along q p s) (PV D q)) 0 (dot pairs constant_one G p)) ->
  (forall r, (forall i, (i < pairs)%nat -> Rabs (r i - q i) <= radius) -> least <= f D r (PV D q)) ->
  ~ dot pairs constant_one G G / 2 >= mu * (f D q (PV D q) - least).

Definition no_saddle := forall D, counts D -> condition_S D -> condition_F D -> 1 / 2 < beta D ->
  forall q zeta, ~ ((forall z, f D q z <= f D q zeta) /\ forall r, f D q zeta <= f D r zeta).

(* --- proofs *)
Lemma not_shifted : forall v, shifted v 0 = v.
Proof. intros. apply functional_extensionality. intros. unfold shifted. ring. Qed.

Theorem parabola_holds : parabola.
Proof.
  intros D q c C S E. split; [| apply share_pos; auto].
  destruct (objective_along_shifts_holds D q c 0 C S E) as [H _]. rewrite not_shifted in H. rewrite H.
  unfold level.objective. ring.
Qed.

Theorem unbounded_below_holds : unbounded_below.
Proof.
  intros D q C S E Hb M. set (A := f D q (PV D q)).
  set (k := share D * (2 * beta D - 1)).
  assert (K : 0 < k) by (apply Rmult_lt_0_compat; [apply share_pos; auto | lra]).
  set (c := 1 + Rabs (A - M) / k). exists c.
  destruct (parabola_holds D q c C S E) as [H _]. rewrite H. fold A.
  replace (share D * ((1 - 2 * beta D) * c ^ 2)) with (- (k * c ^ 2)) by (unfold k; ring).
  pose proof (Rabs_pos (A - M)) as P. pose proof (Rle_abs (A - M)).
  assert (Q : 0 <= Rabs (A - M) / k)
    by (apply Rmult_le_pos; [auto | left; apply Rinv_0_lt_compat; auto]).
  assert (k * c >= Rabs (A - M) + k) by (right; unfold c; field; lra).
  assert (1 <= c) by (unfold c; lra). nra.
Qed.

Lemma no_slope : forall D q, counts D -> condition_S D -> solution D q ->
  forall x k, (x < states D)%nat -> (k < actions D)%nat -> slope_f D q (PV D q) x k = 0.
Proof.
  intros D q C S H x k Hx Hk. unfold slope_f, slope_g, pull.
  rewrite (sum_ext _ (fun j => b D j * (PV D q j - PV D q j) * P D j x) (fun _ => 0)) by (intros; ring).
  rewrite (sum_ext _ (fun j => slope_e D q j * P D j x) (fun _ => 0)).
  2: { intros j Hj. unfold slope_e. destruct (H j Hj) as [Z _]. rewrite Z. ring. }
  rewrite sum_const. unfold slope_h, slope_e. destruct (H x Hx) as [Z L]. rewrite Z, L by auto. ring.
Qed.

Theorem stationary_holds : stationary.
Proof.
  intros D q C S H. split; intros p.
  - destruct (the_slopes_hold D C S (along q p) p 0 (line q p 0)) as [_ Fs].
    specialize (Fs (PV D q)). rewrite along_0 in Fs.
    rewrite (sum_ext _ _ (fun _ => 0)), sum_const, Rmult_0_r in Fs; [exact Fs |].
    intros x Hx. rewrite (sum_ext _ _ (fun _ => 0)), sum_const; [ring |].
    intros k Hk. rewrite no_slope by auto. ring.
  - set (k := beta D ^ 2 * dot (states D) (b D) p p).
    assert (E : (fun s => f D q (along (PV D q) p s)) = (fun s => g D q - k * s ^ 2)).
    { apply functional_extensionality. intros s. destruct (profile_over_zeta_holds D C S q
        (along (PV D q) p s)) as [Eq _]. rewrite Eq. unfold k. rewrite !dot_square.
      rewrite (sum_ext _ (fun i => b D i * off D q (along (PV D q) p s) i ^ 2)
        (fun i => s ^ 2 * (b D i * p i ^ 2))) by (intros; unfold off, less, along; ring).
      rewrite sum_scal. ring. }
    rewrite E. replace 0 with (0 - k * (2 * 0 * 1)) at 2 by ring.
    apply derivable_pt_lim_minus; [apply derivable_pt_lim_const |]. apply scaled_derivative.
    apply (square_derivative id). apply derivable_pt_lim_id.
Qed.

Lemma solution_has_no_residual : forall D q, solution D q -> no_residual D q.
Proof. intros D q H x Hx. apply H. auto. Qed.

Theorem no_pl_in_q_holds : no_pl_in_q.
Proof.
  intros D q radius mu least G C S H Hb Hr Hmu pairs HG Hl Q.
  destruct (stationary_holds D q C S H) as [St _].
  pose proof (uniqueness_limite _ _ _ _ (HG G) (St G)) as Z. rewrite Z in Q.
  pose proof (solution_has_no_residual D q H) as E.
  destruct (parabola_holds D q radius C S E) as [Pa Sh].
  assert (B : least <= f D (shifted q radius) (PV D q)).
  { apply Hl. intros i Hi. unfold shifted. replace (q i + radius - q i) with radius by ring.
    rewrite Rabs_pos_eq; lra. }
  rewrite Pa in B. assert (0 < radius ^ 2) by (apply pow_lt; auto).
  assert (0 < share D * ((2 * beta D - 1) * radius ^ 2))
    by (apply Rmult_lt_0_compat; [auto | apply Rmult_lt_0_compat; lra]).
  assert (0 < f D q (PV D q) - least) by lra.
  assert (0 < mu * (f D q (PV D q) - least)) by (apply Rmult_lt_0_compat; auto). lra.
Qed.

Theorem no_saddle_holds : no_saddle.
Proof.
  intros D C S F Hb q zeta [M1 M2].
  destruct (there_is_one D C S F) as [star H].
  assert (M : minimax D q zeta) by (split; [auto | intros r; exists zeta; auto]).
  destruct (theorem_5_of_the_paper_holds D star C S F H q zeta) as [[E _] _].
  destruct (E M) as [Same Z].
  assert (Sq : solution D q) by (apply (solution_same D C q star); auto).
  pose proof (solution_has_no_residual D q Sq) as R.
  assert (Fz : forall r, f D r zeta = f D r (PV D q)).
  { intros r. destruct (profile_over_zeta_holds D C S r zeta) as [Ea _].
    destruct (profile_over_zeta_holds D C S r (PV D q)) as [Eb _]. rewrite Ea, Eb, !dot_square.
    do 2 f_equal. apply sum_ext. intros x Hx. unfold off, less. rewrite (Z ltac:(lra) x Hx). auto. }
  destruct (parabola_holds D q 1 C S R) as [Pa Sh]. pose proof (M2 (shifted q 1)) as B.
  rewrite !Fz, Pa in B.
  assert (0 < share D * (2 * beta D - 1)) by (apply Rmult_lt_0_compat; lra). lra.
Qed.

Print Assumptions parabola_holds.
Print Assumptions unbounded_below_holds.
Print Assumptions stationary_holds.
Print Assumptions no_pl_in_q_holds.
Print Assumptions no_saddle_holds.
