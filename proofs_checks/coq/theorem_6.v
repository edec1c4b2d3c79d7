(* Theorem 6 of corrected.md for the paper's objective: descent in the table q and ascent in zeta
   with two constant steps, without two-sided PL. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient pl.
Open Scope R_scope.

(* --- statements *)
Section Statement.
Variable D : data.
Variables (nu rho tau : R).
Local Notation X := (states D).

(* q+ = q - tau M^-1 grad_q f(q, zeta), zeta+ = zeta + rho (P V_q+ - zeta) *)
Definition step_q (q zeta : vector) : vector := along q (gradient_f D q zeta) (- tau).
Definition step_zeta (q zeta : vector) : vector := fun x => zeta x + rho * (PV D q x - zeta x).
Fixpoint steps (q zeta : vector) (t : nat) : vector * vector :=
  match t with
  | O => (q, zeta)
  | S k => let (q, zeta) := steps q zeta k in
    (step_q q zeta, step_zeta (step_q q zeta) zeta)
  end.

(* W = g - g* + rho / (8 nu^2 tau) |zeta - P V_q|_b^2 *)
Definition falls (q zeta : vector) := g D q - entropy D + rho / (8 * nu ^ 2 * tau) *
  sum X (fun x => b D x * (zeta x - PV D q x) ^ 2).
End Statement.

(* c and L are those of the set where g - g* <= W, in the metric of visits *)
Definition two_steps D alpha W c L nu rho tau :=
  counts D /\ condition_S D /\ factor D alpha /\ pl_constant D alpha (metric D) W c /\
  smooth (states D * actions D) (metric D) (g D) L (entropy D + W) (gradient_g D) /\
  bounded_by (states D * actions D) (states D) (metric D) (b D) nu
    (slope (states D) (actions D) (P D)) /\
  0 < nu /\ 0 < rho <= 1 /\ 0 < L /\ 0 < tau /\ tau <= 1 / L /\
  (tau <= rho / (sqrt 48 * beta D ^ 2 * nu ^ 2) \/ beta D = 0).

Definition theorem_6 := forall D alpha W c L nu rho tau, two_steps D alpha W c L nu rho tau ->
  forall q zeta, falls D nu rho tau q zeta <= W ->
  falls D nu rho tau (step_q D tau q zeta) (step_zeta D rho (step_q D tau q zeta) zeta) <=
  (1 - Rmin (tau * c / 2) (rho / 2)) * falls D nu rho tau q zeta.

Definition theorem_6_many_steps := forall D alpha W c L nu rho tau,
  two_steps D alpha W c L nu rho tau -> 0 <= c ->
  forall q zeta, falls D nu rho tau q zeta <= W ->
  forall t, let (q', zeta') := steps D rho tau q zeta t in
  falls D nu rho tau q' zeta' <=
  (1 - Rmin (tau * c / 2) (rho / 2)) ^ t * falls D nu rho tau q zeta.

(* --- proofs *)
Lemma falls_is : forall D nu rho tau q zeta, falls D nu rho tau q zeta =
  lyapunov (states D) (b D) (g D) (PV D) (entropy D) rho nu tau q zeta.
Proof.
  intros. unfold falls, lyapunov. f_equal. f_equal. rewrite dot_square. apply sum_ext. intros.
  unfold less. ring.
Qed.

Lemma metric_pos : forall D, counts D -> condition_S D -> forall x k,
  (x < states D)%nat -> (k < actions D)%nat -> 0 < metric D (pair (actions D) x k).
Proof. intros. unfold metric. rewrite table_pair by auto. apply w_pos; auto. Qed.

Lemma size_metric : forall D, counts D -> condition_S D -> forall q,
  dot (states D * actions D) (metric D) (gradient_g D q) (gradient_g D q) =
  size D (metric D) (slope_g D q).
Proof.
  intros D C S q. unfold gradient_g at 1. rewrite dot_metric by auto. apply sum2_ext.
  intros x k Hx Hk. unfold gradient_g, metric. rewrite !table_pair by auto.
  pose proof (w_pos D C S x Hx). field. lra.
Qed.

Theorem theorem_6_holds : theorem_6.
Proof.
  intros D alpha W c L nu rho tau [C [S [A [Pc [Sm [Nu [Hn [Hr [HL [Ht [HtL H48]]]]]]]]]]] q zeta H.
  destruct (the_gradients_hold D C S) as [Wp [DG DF]].
  assert (DA : derivative_of_v (PV D) (slope (states D) (actions D) (P D))).
  { intros x p j s. apply (ahead_curve (states D) (actions D) (P D) (along x p));
      [apply actions_pos; auto | apply line]. }
  assert (PL : pl (states D * actions D) (metric D) (g D) c (entropy D) (entropy D + W)
    (gradient_g D)).
  { intros x Hx. rewrite size_metric by auto.
    apply (pl_of_tables_holds D alpha (metric D) W c); auto; [| lra].
    apply metric_pos; auto. }
  assert (Least : forall x, entropy D <= g D x).
  { intros x. pose proof (gap_pos D C S x) as G. unfold gap in G. lra. }
  rewrite !falls_is in *. assert (B : 0 <= beta D) by apply C.
  exact (two_time_scales_holds (states D * actions D)%nat (states D) (metric D) (b D) (beta D) (g D)
    (PV D) (gradient_g D) (slope (states D) (actions D) (P D)) (gradient_f D) (entropy D) W L c nu
    rho tau Wp DG DA DF Nu Sm PL Least B Hn Hr HL Ht HtL H48 q zeta H).
Qed.

Lemma falls_pos : forall D nu rho tau, counts D -> condition_S D -> 0 < nu -> 0 < rho -> 0 < tau ->
  forall q zeta, 0 <= falls D nu rho tau q zeta.
Proof.
  intros D nu rho tau C S Hn Hr Ht q zeta. unfold falls.
  pose proof (gap_pos D C S q) as G. unfold gap in G.
  assert (0 < 8 * nu ^ 2 * tau) by (assert (0 < nu ^ 2) by (apply pow_lt; auto); nra).
  assert (0 < rho / (8 * nu ^ 2 * tau)) by (apply Rdiv_lt_0_compat; auto).
  assert (0 <= rho / (8 * nu ^ 2 * tau) *
    sum (states D) (fun x => b D x * (zeta x - PV D q x) ^ 2)); [| lra].
  apply Rmult_le_pos; [lra |]. apply sum_pos. intros.
  apply Rmult_le_pos; [apply b_nonneg; auto | apply pow2_ge_0].
Qed.

Theorem theorem_6_many_steps_holds : theorem_6_many_steps.
Proof.
  intros D alpha W c L nu rho tau T Hc q zeta H.
  assert (T' := T). destruct T' as [C [S [_ [_ [_ [_ [Hn [Hr [_ [Ht _]]]]]]]]]].
  set (k := Rmin (tau * c / 2) (rho / 2)).
  assert (K0 : 0 <= k) by (apply Rmin_glb; [nra | lra]).
  assert (K1 : k <= rho / 2) by apply Rmin_r.
  pose proof (falls_pos D nu rho tau C S Hn (proj1 Hr) Ht q zeta) as F0.
  induction t; simpl; [lra |]. destruct (steps D rho tau q zeta t) as [q' zeta'].
  pose proof (pow_le (1 - k) t ltac:(lra)) as P0.
  assert (P1 : (1 - k) ^ t <= 1 ^ t) by (apply pow_incr; lra). rewrite pow1 in P1.
  assert (H' : falls D nu rho tau q' zeta' <= W).
  { eapply Rle_trans; [exact IHt |]. nra. }
  eapply Rle_trans; [apply (theorem_6_holds D alpha W c L nu rho tau T q' zeta' H') |].
  fold k. rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra | exact IHt].
Qed.

Print Assumptions theorem_6_holds.
Print Assumptions theorem_6_many_steps_holds.
