(* Theorem 7 of corrected.md, joined to the paper's objective: along a common shift from a solution
   f is the two-number objective of level.v, and the printed flow is that of level.v. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality vectors two_time_scales softmax risk level.
Open Scope R_scope.

(* --- statements *)
Definition shifted (q : vector) (c : R) : vector := fun i => q i + c.
Definition constant (c : R) : vector := fun _ => c.
(* the share of anchor observations *)
Definition share (D : data) := sum (states D) (b D).
(* As at a solution: no residual. *)
Definition no_residual (D : data) (q : vector) :=
  forall x, (x < states D)%nat -> residual D q x = 0.

(* Along a shift c of Q and z of zeta: f changes by the objective of level.v, times the share of
   anchor observations; choices do not change, and V moves by c. *)
Definition objective_along_shifts := forall D q c z, counts D -> condition_S D ->
  no_residual D q ->
  f D (shifted q c) (shifted (PV D q) z) =
    f D q (PV D q) + share D * level.objective (beta D) c z /\
  (forall x, value (actions D) (shifted q c) x = value (actions D) q x + c) /\
  (forall x a, choice (actions D) (shifted q c) x a = choice (actions D) q x a).

(* Descent in Q by a metric m over pairs, and zeta' = rate (P V_Q - zeta). If descent at a common
   shift is a common shift again, kappa, then both are the flow of level.v, up to a unit of time. *)
Definition flow_along_shifts := forall D q c z m G kappa rate, counts D -> condition_S D ->
  no_residual D q ->
  (forall p, derivable_pt_lim (fun s => f D (along (shifted q c) p s) (shifted (PV D q) z)) 0
    (dot (states D * actions D) m G p)) ->
  (forall i, (i < states D * actions D)%nat -> - G i = kappa) ->
  let size := dot (states D * actions D) m (constant 1) (constant 1) in 0 < size ->
  let unit := share D / size in
  kappa = unit * flow_c (beta D) c z /\
  forall x, (x < states D)%nat -> rate * (PV D (shifted q c) x - (PV D q x + z)) =
    unit * flow_z (rate / (2 * unit)) c z.

(* One state with one action: f is the objective of level.v at Q = Q* + c and zeta = zeta* + z, and
   its slopes are the flow. Only (S) is assumed. *)
Definition one_state_one_action := forall D, counts D -> condition_S D ->
  states D = 1%nat -> actions D = 1%nat ->
  let star := reward D O / (1 - beta D) in
  let f := fun c z => f D (constant (star + c)) (constant (star + z)) in
  no_residual D (constant star) /\ PV D (constant star) O = star /\
  (forall c z, f c z = level.objective (beta D) c z) /\
  (0 < beta D -> forall rho c z,
    derivable_pt_lim (fun c => - f c z) c (flow_c (beta D) c z) /\
    derivable_pt_lim (fun z => rho / beta D ^ 2 * f c z) z (flow_z rho c z)).

(* --- proofs *)
Lemma total_shift : forall K q c x, total K (shifted q c) x = exp c * total K q x.
Proof.
  intros. unfold total, shifted. rewrite <- sum_scal. apply sum_ext. intros.
  rewrite exp_plus. ring.
Qed.

Lemma value_shift : forall K q c x, (0 < K)%nat -> value K (shifted q c) x = value K q x + c.
Proof.
  intros. unfold value. rewrite total_shift, ln_mult, ln_exp;
    [ring | apply exp_pos | apply total_pos; auto].
Qed.

Lemma choice_shift : forall K q c x a, (0 < K)%nat -> choice K (shifted q c) x a = choice K q x a.
Proof.
  intros. unfold choice. rewrite total_shift. unfold shifted. rewrite exp_plus.
  pose proof (total_pos K q x H). pose proof (exp_pos c). field. lra.
Qed.

Section Proof.
Variable D : data.
Hypothesis C : counts D.
Hypothesis S : condition_S D.

Lemma PV_shift : forall q c x, (x < states D)%nat -> PV D (shifted q c) x = PV D q x + c.
Proof.
  intros q c x Hx. unfold PV, ahead.
  rewrite (sum_ext _ _ (fun y => P D x y * value (actions D) q y + c * P D x y))
    by (intros; rewrite value_shift by (apply actions_pos; auto); ring).
  rewrite sum_plus, sum_scal, P_sum by auto. ring.
Qed.

Lemma shift : forall q c z, no_residual D q ->
  f D (shifted q c) (shifted (PV D q) z) =
    f D q (PV D q) + share D * level.objective (beta D) c z.
Proof.
  intros q c z E. rewrite !f_is by auto.
  assert (L : nll D (shifted q c) = nll D q).
  { unfold nll. apply sum_ext. intros. f_equal. apply sum_ext. intros.
    rewrite choice_shift by (apply actions_pos; auto). auto. }
  rewrite L. unfold share. rewrite Rplus_assoc, (Rmult_comm (sum _ _)), <- sum_scal, <- sum_plus.
  f_equal. apply sum_ext. intros x Hx. pose proof (E x Hx) as Ex. rewrite Ex.
  unfold residual in *. rewrite PV_shift by auto. unfold shifted, level.objective.
  replace (reward D x + beta D * (PV D q x + c) - (q (pair (actions D) x (anchor D x)) + c))
    with (- ((1 - beta D) * c)) by lra. ring.
Qed.

Lemma share_pos : 0 < share D.
Proof.
  pose proof C as [_ [H _]]. eapply Rlt_le_trans; [apply (b_pos D C S O H) |].
  apply (sum_term (states D) (b D)); [intros; apply b_nonneg; auto | auto].
Qed.
End Proof.

Theorem objective_along_shifts_holds : objective_along_shifts.
Proof.
  intros D q c z C S E. split; [apply shift; auto |]. pose proof (actions_pos D C).
  split; intros; [apply value_shift | apply choice_shift]; auto.
Qed.

Lemma flow_c_derivative : forall b c z k,
  derivable_pt_lim (fun s => k * level.objective b (c + s) z) 0 (k * - flow_c b c z).
Proof.
  intros b c z k. apply scaled_derivative. unfold level.objective, flow_c.
  apply derivative with (k := 1 - 2 * b). intros h Hh. field. exact Hh.
Qed.

Theorem flow_along_shifts_holds : flow_along_shifts.
Proof.
  intros D q c z m G kappa rate C S E DG Com size Hs unit. pose proof (share_pos D C S) as Sh.
  assert (U : unit <> 0) by (apply Rgt_not_eq, Rdiv_lt_0_compat; auto). split.
  - pose proof (DG (constant 1)) as D1.
    assert (D2 : derivable_pt_lim (fun s =>
      f D (along (shifted q c) (constant 1) s) (shifted (PV D q) z)) 0
      (share D * - flow_c (beta D) c z)).
    { pose proof (flow_c_derivative (beta D) c z (share D)) as F.
      assert (X : (fun s => f D (along (shifted q c) (constant 1) s) (shifted (PV D q) z)) =
        (fun s => f D q (PV D q) + share D * level.objective (beta D) (c + s) z)).
      { apply functional_extensionality. intros s. rewrite <- shift by auto. f_equal.
        apply functional_extensionality. intros i. unfold along, shifted, constant. ring. }
      rewrite X. replace (share D * - flow_c (beta D) c z)
        with (0 + share D * - flow_c (beta D) c z) by ring.
      apply derivable_pt_lim_plus; [apply derivable_pt_lim_const | exact F]. }
    pose proof (uniqueness_limite _ _ _ _ D1 D2) as Eq.
    assert (K : dot (states D * actions D) m G (constant 1) = - kappa * size).
    { unfold size. rewrite !dot_sum, <- sum_scal. apply sum_ext. intros i Hi.
      pose proof (Com i Hi). replace (G i) with (- kappa) by lra. unfold constant. ring. }
    rewrite K in Eq. unfold unit. apply Rmult_eq_reg_r with size; [| lra].
    replace (share D / size * flow_c (beta D) c z * size) with (share D * flow_c (beta D) c z)
      by (field; lra). lra.
  - intros x Hx. rewrite PV_shift by auto. unfold flow_z. field. exact U.
Qed.

Theorem one_state_one_action_holds : one_state_one_action.
Proof.
  intros D C S H1 K1 star f0.
  assert (B : 1 - beta D <> 0) by (destruct C as [_ [_ [_ [_ Hb]]]]; lra).
  assert (A : anchor D O = O) by (pose proof (anchor_in D C O); lia).
  assert (P1 : P D O O = 1) by (pose proof (P_sum D C S O ltac:(lia)) as Q; rewrite H1 in Q;
    simpl in Q; lra).
  assert (V : forall t y, value (actions D) (constant t) y = t).
  { intros t y. unfold value, total, constant. rewrite K1. simpl. rewrite Rplus_0_l. apply ln_exp. }
  assert (PV0 : PV D (constant star) O = star).
  { unfold PV, ahead. rewrite H1. simpl. rewrite V, P1. ring. }
  assert (E : no_residual D (constant star)).
  { intros x Hx. assert (x = 0%nat) by lia. subst x. unfold residual. rewrite PV0.
    unfold constant, star. field. exact B. }
  assert (Share : share D = 1).
  { unfold share, b, observations, visits. rewrite H1, K1. simpl. rewrite A.
    pose proof (S 0%nat ltac:(lia)) as [Q _]. rewrite A in Q. field. lra. }
  assert (F : forall c z, f0 c z = level.objective (beta D) c z).
  { intros c z. unfold f0. pose proof (shift D C S (constant star) c z E) as Q.
    assert (Z : f D (constant star) (PV D (constant star)) = 0).
    { rewrite f_is by auto. unfold nll. rewrite H1, K1. simpl.
      rewrite (E 0%nat ltac:(lia)), PV0.
      pose proof V as V1. rewrite K1 in V1. rewrite log_choice, V1 by lia.
      unfold constant. ring. }
    rewrite Z, Share in Q. rewrite <- (Rmult_1_l (level.objective _ _ _)), <- (Rplus_0_l (1 * _)).
    rewrite <- Q. rewrite !f_is by auto. f_equal.
    rewrite H1. simpl.
    change (shifted (PV D (constant star)) z O) with (PV D (constant star) O + z).
    rewrite PV0. reflexivity. }
  repeat split; auto; intros; pose proof (flow_gradient (beta D) rho c z ltac:(auto)) as [Q R].
  - assert (X : (fun c => - f0 c z) = (fun c => - level.objective (beta D) c z))
      by (apply functional_extensionality; intros; rewrite F; auto). rewrite X. exact Q.
  - assert (X : (fun z => rho / beta D ^ 2 * f0 c z) =
      (fun z => rho / beta D ^ 2 * level.objective (beta D) c z))
      by (apply functional_extensionality; intros; rewrite F; auto). rewrite X. exact R.
Qed.

Print Assumptions objective_along_shifts_holds.
Print Assumptions flow_along_shifts_holds.
Print Assumptions one_state_one_action_holds.
