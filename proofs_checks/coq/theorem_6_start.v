(* The remark after Theorem 6 of corrected.md: from every start there are constant steps with which
   descent and ascent converge linearly. Only (S) and (F) are assumed. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient pl smoothness theorem_6 alpha positive.
Open Scope R_scope.

(* --- statement *)
Definition linear_from_every_start := forall D rho q zeta,
  counts D -> condition_S D -> condition_F D -> 0 < rho <= 1 ->
  exists nu tau rate, 0 < nu /\ 0 < tau /\ 0 < rate /\ forall t,
  let (q', zeta') := steps D rho tau q zeta t in
  falls D nu rho tau q' zeta' <= (1 - rate) ^ t * falls D nu rho tau q zeta.

(* --- proof *)
Lemma ratio_bound : forall n u v, (forall x, (x < n)%nat -> 0 <= u x) ->
  (forall x, (x < n)%nat -> 0 < v x) ->
  exists s, 0 < s /\ forall x, (x < n)%nat -> u x <= s ^ 2 * v x.
Proof.
  intros n u v Hu Hv. set (T := sum n (fun x => u x / v x)).
  assert (P : forall x, (x < n)%nat -> 0 <= u x / v x).
  { intros x Hx. unfold Rdiv. apply Rmult_le_pos; [auto | left; apply Rinv_0_lt_compat; auto]. }
  assert (T0 : 0 <= T) by (apply sum_pos; auto).
  exists (sqrt (1 + T)). split; [apply sqrt_lt_R0; lra |]. intros x Hx. rewrite pow2_sqrt by lra.
  pose proof (sum_term n (fun x => u x / v x) x P Hx) as B. cbv beta in B. fold T in B.
  pose proof (Hv x Hx). replace (u x) with (u x / v x * v x) by (field; lra).
  apply Rmult_le_compat_r; lra.
Qed.

Theorem linear_from_every_start_holds : linear_from_every_start.
Proof.
  intros D rho q zeta C S F Hr. set (X := states D).
  pose proof (w_pos D C S) as Wp. fold X in Wp.
  assert (B : 0 <= beta D) by apply C.
  destruct (ratio_bound X (fun y => sum X (fun j => b D j * P D j y)) (w D)) as [nu [N0 Nu]]; auto.
  { intros y Hy. apply sum_pos. intros. apply Rmult_le_pos; [apply b_nonneg | apply P_nonneg]; auto. }
  destruct (ratio_bound X (b D) (w D)) as [a [A0 Ab]]; auto.
  { intros. apply b_nonneg; auto. }
  destruct (ratio_bound X (fun y => sum X (fun j => b D j * P D j y ^ 2)) (fun y => w D y ^ 2))
    as [k1 [K0 Kb]].
  { intros y Hy. apply sum_pos. intros. apply Rmult_le_pos; [apply b_nonneg; auto | apply pow2_ge_0]. }
  { intros y Hy. apply pow_lt. auto. }
  cbv beta in Nu, Kb.
  set (L0 := 1 / 2 + 2 * (beta D * nu + a) ^ 2). set (L1 := beta D * k1).
  assert (L00 : 1 / 2 <= L0) by (unfold L0; pose proof (pow2_ge_0 (beta D * nu + a)); lra).
  assert (L10 : 0 <= L1) by (apply Rmult_le_pos; lra).
  set (A := g D q - entropy D).
  assert (Ap : 0 <= A) by apply (gap_pos D C S q).
  set (Bb := rho / (8 * nu ^ 2) * sum X (fun x => b D x * (zeta x - PV D q x) ^ 2)).
  assert (N2 : 0 < nu ^ 2) by (apply pow_lt; auto).
  assert (Bp : 0 <= Bb).
  { apply Rmult_le_pos; [left; apply Rdiv_lt_0_compat; lra |]. apply sum_pos. intros.
    apply Rmult_le_pos; [apply b_nonneg; auto | apply pow2_ge_0]. }
  set (M := L1 ^ 2 * (A + Bb) + 1).
  assert (M1 : 1 <= M).
  { unfold M. assert (0 <= L1 ^ 2 * (A + Bb)) by (apply Rmult_le_pos; [apply pow2_ge_0 | lra]). lra. }
  assert (S48 : 0 < sqrt 48) by (apply sqrt_lt_R0; lra).
  set (den := sqrt 48 * (beta D ^ 2 * nu ^ 2 + 1)).
  assert (BN : 0 <= beta D ^ 2 * nu ^ 2) by (apply Rmult_le_pos; apply pow2_ge_0).
  assert (Den : 0 < den) by (apply Rmult_lt_0_compat; lra).
  set (tau := Rmin (Rmin (1 / (2 * L0)) (1 / (4 * M))) (rho / den)).
  assert (T1 : tau <= 1 / (2 * L0)) by (eapply Rle_trans; [apply Rmin_l | apply Rmin_l]).
  assert (T2 : tau <= 1 / (4 * M)) by (eapply Rle_trans; [apply Rmin_l | apply Rmin_r]).
  assert (T3 : tau <= rho / den) by apply Rmin_r.
  assert (T0 : 0 < tau) by (repeat apply Rmin_pos; apply Rdiv_lt_0_compat; lra).
  assert (T4 : tau * M <= 1 / 4).
  { apply Rmult_le_compat_r with (r := M) in T2; [| lra].
    replace (1 / (4 * M) * M) with (1 / 4) in T2 by (field; lra). auto. }
  assert (T5 : tau <= 1) by nra.
  assert (T6 : tau * L0 <= 1 / 2).
  { apply Rmult_le_compat_r with (r := L0) in T1; [| lra].
    replace (1 / (2 * L0) * L0) with (1 / 2) in T1 by (field; lra). auto. }
  set (W := A + Bb / tau).
  assert (BT : 0 <= Bb / tau).
  { unfold Rdiv. apply Rmult_le_pos; [auto | left; apply Rinv_0_lt_compat; auto]. }
  assert (W0 : 0 <= W) by (unfold W; lra).
  assert (Start : falls D nu rho tau q zeta <= W).
  { right. unfold falls, W, Bb. fold X A. field. lra. }
  pose proof (sqrt_pos W) as SW. pose proof (pow2_sqrt W W0) as SW2.
  (* tau L <= 1 *)
  assert (TL : tau * (L1 * sqrt W) <= 1 / 2).
  { apply below_root; [lra |].
    replace ((tau * (L1 * sqrt W)) ^ 2) with (tau ^ 2 * (L1 ^ 2 * sqrt W ^ 2)) by ring.
    rewrite SW2.
    assert (E : tau ^ 2 * W = tau ^ 2 * A + tau * Bb) by (unfold W; field; lra).
    replace (tau ^ 2 * (L1 ^ 2 * W)) with (L1 ^ 2 * (tau ^ 2 * W)) by ring. rewrite E.
    assert (E2 : tau ^ 2 * A + tau * Bb <= tau * (A + Bb)).
    { assert (tau ^ 2 * A <= tau * A) by (apply Rmult_le_compat_r; [auto | nra]). lra. }
    assert (L1 ^ 2 * (tau ^ 2 * A + tau * Bb) <= L1 ^ 2 * (tau * (A + Bb)))
      by (apply Rmult_le_compat_l; [apply pow2_ge_0 | auto]).
    unfold M in T4. lra. }
  set (L := 1 / 2 + 2 * (beta D * nu + a) ^ 2 + beta D * (k1 * sqrt W)).
  assert (LL : L = L0 + L1 * sqrt W) by (unfold L, L0, L1; ring).
  assert (Lp : 0 < L).
  { assert (0 <= L1 * sqrt W) by (apply Rmult_le_pos; auto). lra. }
  assert (TLL : tau * L <= 1) by (rewrite LL; lra).
  destruct (constants_are_positive_holds D W (metric D) C S F W0 (metric_pos D C S))
    as [alpha [c [Al [C0 Pc]]]].
  assert (Bo : bounded_by (X * actions D) X (metric D) (b D) nu (slope X (actions D) (P D))).
  { destruct (the_paper_s_v_holds X (actions D) X (P D) (w D) (b D) nu) as [_ H]; auto.
    - apply actions_pos; auto.
    - intros. apply P_nonneg; auto.
    - apply P_sum; auto.
    - intros. apply b_nonneg; auto.
    - apply H. intros. unfold metric. rewrite table_pair; auto. }
  exists nu, tau, (Rmin (tau * c / 2) (rho / 2)).
  split; [auto |]. split; [auto |]. split; [apply Rmin_pos; [nra | lra] |]. intros t.
  apply (theorem_6_many_steps_holds D alpha W c L nu rho tau); [| lra | exact Start].
  split; [auto |]. split; [auto |]. split; [auto |]. split; [auto |]. split.
  { apply (smoothness_below_a_level_holds D W nu a (k1 * sqrt W) C S); auto; try lra.
    - apply Rmult_le_pos; lra.
    - intros y Hy. replace ((k1 * sqrt W * w D y) ^ 2) with (sqrt W ^ 2 * (k1 ^ 2 * w D y ^ 2))
        by ring. rewrite SW2. apply Rmult_le_compat_l; auto. }
  split; [exact Bo |]. split; [auto |]. split; [auto |]. split; [auto |]. split; [auto |]. split.
  - apply Rmult_le_reg_r with L; [auto |]. replace (1 / L * L) with 1 by (field; lra). auto.
  - destruct (Req_dec (beta D) 0) as [Z | Z]; [auto |]. left.
    eapply Rle_trans; [exact T3 |]. unfold Rdiv, den. apply Rmult_le_compat_l; [lra |].
    assert (0 < beta D ^ 2) by (apply pow_lt; lra).
    apply Rinv_le_contravar.
    + apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat |]; auto.
    + rewrite Rmult_assoc. apply Rmult_le_compat_l; lra.
Qed.

Print Assumptions linear_from_every_start_holds.
