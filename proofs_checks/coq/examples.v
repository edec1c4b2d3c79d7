(* Every theorem is instantiated, so that none is vacuous. W has two states and two actions, and every
   move was seen once; O and H have one state and one action. In Z the paper's sample has two evaluated
   states. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors contraction two_time_scales softmax risk gradient least pl positive theorem_6.
Require Import theorem_6_start smoothness alpha two_actions identification closed_form hessian level.
Require Import level_risk reward_class ball paper_pl minimax saddle paper_smooth rank support.
Require Import inner_step overlap two_schedules q_error.
Open Scope R_scope.

(* --- W, whose solution is Q = 0 *)
Definition W : data := {| states := 2; actions := 2; all_states := 2; count := fun _ _ _ => 1;
  anchor := fun _ => O; reward := fun _ => - (19 / 20 * ln 2); beta := 19 / 20 |}.
Definition nought : vector := fun _ => 0.

Lemma w_counts : counts W.
Proof. unfold counts, W; simpl. repeat split; intros; try lra; lia. Qed.
Lemma w_s : condition_S W.
Proof. unfold condition_S, taken, W; simpl. intros. split; intros; [lra | lia]. Qed.
Lemma w_f : condition_F W.
Proof. unfold condition_F, taken, W; simpl. intros. lra. Qed.
Lemma w_frequency : forall x a, frequency W x a = 1 / 2.
Proof. intros. unfold frequency, visits, taken, W; simpl. field. Qed.
Lemma w_moves : forall x y, P W x y = 1 / 2.
Proof. intros. unfold P, taken, W; simpl. field. Qed.
Lemma w_w : forall x, w W x = 1 / 2.
Proof. intros. unfold w, observations, visits, taken, W; simpl. field. Qed.
Lemma w_b : forall x, b W x = 1 / 4.
Proof. intros. unfold b, observations, visits, taken, W; simpl. field. Qed.
Lemma value_nought : forall x, value 2 nought x = ln 2.
Proof. intros. unfold value, total, nought. simpl. rewrite exp_0. f_equal. ring. Qed.
Lemma choice_nought : forall x a, choice 2 nought x a = 1 / 2.
Proof. intros. unfold choice, total, nought. simpl. rewrite exp_0. field. Qed.
Lemma w_solution : solution W nought.
Proof.
  intros x Hx. split.
  - unfold residual, PV, ahead. change (states W) with 2%nat. change (actions W) with 2%nat.
    rewrite (sum_ext 2 _ (fun _ => 1 / 2 * ln 2)) by (intros; rewrite w_moves, value_nought; auto).
    unfold nought; simpl. field.
  - intros k Hk. rewrite w_frequency. apply choice_nought.
Qed.
Lemma w_coordinates : has_coordinates W nought (fun x k => ln (frequency W x k)) (fun _ => 0).
Proof. apply (solution_is W w_counts w_s w_f). apply w_solution. Qed.
Lemma w_no_residual : no_residual W nought.
Proof. apply solution_has_no_residual. apply w_solution. Qed.
Lemma w_resolvent : resolvent_below W 20.
Proof.
  intros h. change (states W) with 2%nat. change (beta W) with (19 / 20). simpl.
  rewrite !w_w, !w_moves. pose proof (pow2_ge_0 (h 0%nat - h 1%nat)).
  pose proof (pow2_ge_0 (h 0%nat + h 1%nat)).
  replace (h 0%nat - 19 / 20 * (0 + 1 / 2 * h 0%nat + 1 / 2 * h 1%nat)) with
    (1 / 2 * (h 0%nat - h 1%nat) + 1 / 40 * (h 0%nat + h 1%nat)) by field.
  replace (h 1%nat - 19 / 20 * (0 + 1 / 2 * h 0%nat + 1 / 2 * h 1%nat)) with
    (- (1 / 2) * (h 0%nat - h 1%nat) + 1 / 40 * (h 0%nat + h 1%nat)) by field.
  nra.
Qed.
Lemma one_below : forall x k : nat, (x < states W)%nat -> (k < actions W)%nat ->
  0 < constant_one (pair (actions W) x k).
Proof. intros. unfold constant_one. lra. Qed.
Lemma metric_below : forall x k : nat, (x < states W)%nat -> (k < actions W)%nat ->
  0 < metric W (pair (actions W) x k).
Proof. intros x k Hx Hk. unfold metric. rewrite table_pair, w_w by auto. lra. Qed.

(* --- outputs are the parameters: n of them, as they are *)
Definition own (n : nat) (q : vector) : vector := fun i => if Nat.ltb i n then q i else 0.
Lemma own_line : forall n theta p s i, derivable_pt_lim (fun s => own n (along theta p s) i) s
  (sum n (fun d => one d i * p d)).
Proof.
  intros n theta p s i. unfold own. destruct (Nat.ltb_spec i n) as [L | L].
  - rewrite sum_one by auto. apply (line theta p s i).
  - rewrite (sum_ext n _ (fun _ => 0)), sum_const, Rmult_0_r; [apply derivable_pt_lim_const |].
    intros d Hd. unfold one. destruct (Nat.eqb_spec d i); [lia | ring].
Qed.
Lemma own_square : forall n v, sum n (fun d => sum n (fun i => one d i * v i) ^ 2) =
  sum n (fun i => v i ^ 2).
Proof.
  intros n v. apply sum_ext. intros d Hd. f_equal.
  rewrite (sum_ext n _ (fun i => one i d * v i)); [apply sum_one; auto |].
  intros i _. unfold one. rewrite Nat.eqb_sym. auto.
Qed.
Lemma own_jacobian : forall n, jacobian (own n) n (fun _ => one).
Proof. intros n theta p s i. apply own_line. Qed.
Lemma own_conditioned : forall n theta, conditioned n n (fun _ => one) 1 theta.
Proof. intros n theta v. rewrite own_square. lra. Qed.

(* --- corrected.md, Theorems 1 to 3 *)
Example one_fixed_point_of_w := one_fixed_point_holds 2%nat (t_f W) (beta W)
  (t_f_contracts W w_counts w_s).
Example profile_of_w := profile_over_zeta_holds W w_counts w_s.
Example coordinates_of_w := risk_in_coordinates_holds W w_counts w_s.
Example bijection_of_w := bijection_of_tables_holds W _ (fun _ => 0) w_counts w_s
  (log_choices_of_frequency W w_counts w_s w_f).
Example least_value_of_w := least_value_holds W w_counts w_s w_f.
Example identification_of_w : forall q, (forall x a, (x < 2)%nat -> (a < 2)%nat ->
  Rabs (ln (choice 2 q x a) - ln (choice 2 nought x a)) <= 1) -> _ :=
  fun q H => proj2 (proj2 (theorem_2_holds W nought w_counts w_s w_f w_coordinates)) 20 (1 / 2) 1 q
    ltac:(lra) w_resolvent ltac:(lra) ltac:(lra)
    (fun x _ => Req_le _ _ (eq_sym (w_frequency x (anchor W x)))) H.
Lemma w_seen : seen W 0.
Proof. split; [simpl; lia |]. intros. rewrite w_frequency. lra. Qed.
Example lambda_of_w := lambda_is_positive_holds W 0%nat w_counts w_s w_seen.
Example factor_of_w := theorem_3_holds W 0%nat (1 / 2) 1 w_counts w_s w_seen ltac:(lra)
  (proj1 lambda_of_w (1 / 2) ltac:(lra) (fun a _ => Req_le _ _ (eq_sym (w_frequency 0 a)))) ltac:(lra).

(* two tables at the same KL, either side of the frequencies *)
Definition low : vector := fun i => if Nat.eqb i 0 then -1 else 1.
Definition high : vector := fun i => if Nat.eqb i 0 then 1 else -1.
Lemma two_sides : choice 2 low 0 0 < frequency W 0 0 < choice 2 high 0 0.
Proof.
  rewrite w_frequency. unfold choice, total, low, high, pair. simpl.
  assert (L : exp (-1) < exp 1) by (apply exp_increasing; lra). pose proof (exp_pos (-1)).
  set (a := exp (-1)) in *. set (c := exp 1) in *.
  assert (D : 0 < (c - a) / (2 * (a + c))) by (apply Rdiv_lt_0_compat; lra).
  replace (a / (0 + a + c)) with (1 / 2 - (c - a) / (2 * (a + c))) by (field; lra).
  replace (c / (0 + c + a)) with (1 / 2 + (c - a) / (2 * (a + c))) by (field; lra). lra.
Qed.
Lemma same_kl : kl W low 0 = kl W high 0.
Proof.
  unfold kl. change (actions W) with 2%nat. simpl. rewrite !w_frequency, !log_choice by lia.
  unfold value, total, low, high, pair. simpl. rewrite (Rplus_comm 0 (exp (-1))), (Rplus_comm 0 (exp 1)).
  rewrite (Rplus_comm (exp (-1) + 0)). rewrite !Rplus_0_r. ring.
Qed.
Lemma kl_low : 0 < kl W low 0.
Proof.
  destruct (Rle_lt_or_eq_dec 0 (kl W low 0)) as [H | H]; auto.
  - apply kl_nonneg; [apply w_counts | apply w_s | simpl; lia].
  - exfalso. pose proof (kl_zero W w_counts w_s w_f low 0 ltac:(simpl; lia) (eq_sym H) 0%nat
      ltac:(simpl; lia)) as E. pose proof two_sides. simpl actions in E. lra.
Qed.
Example two_actions_of_w := theorem_3_two_actions_holds W 0%nat (kl W low 0) low high w_counts w_s w_seen
  eq_refl kl_low eq_refl (eq_sym same_kl) two_sides.
Example two_actions_sharp_of_w := theorem_3_two_actions_sharp_holds W 0%nat high w_counts w_s w_seen eq_refl
  (proj2 two_sides).

(* --- Theorems 4 to 6 *)
Example slopes_of_w := the_slopes_hold W w_counts w_s.
Example gradients_of_w := the_gradients_hold W w_counts w_s.
Example positive_of_w := constants_are_positive_holds W 1 constant_one w_counts w_s w_f ltac:(lra)
  one_below.
Example sublevel_sets_of_w := pl_on_sublevel_sets_holds W 1 w_counts w_s w_f ltac:(lra).
Example tables_of_w : exists c, 0 < c /\ forall q, g W q - entropy W <= 1 ->
  size W constant_one (slope_g W q) / 2 >= c * (g W q - entropy W).
Proof.
  destruct positive_of_w as [alpha [c [A [Hc Pc]]]]. exists c. split; [auto |].
  apply (pl_of_tables_holds W alpha constant_one 1 c w_counts w_s A one_below Pc).
Qed.
Example theorem_4_of_w : exists c, 0 < c /\ forall q, g W (own 4 q) - entropy W <= 1 ->
  let G := gradient_in_theta W (own 4) (fun _ => one) q in
  dot 4 constant_one G G / 2 >= 1 * c * (g W (own 4 q) - entropy W).
Proof.
  destruct positive_of_w as [alpha [c [A [Hc Pc]]]]. exists c. split; [auto |].
  intros q Hq. apply (theorem_4_holds W alpha 1 c 4%nat (own 4) (fun _ => one) 1 w_counts w_s A Pc
    (own_jacobian 4) ltac:(lra)); [apply own_conditioned | auto].
Qed.

(* smooth in the metric of visits below every level, with these constants *)
Lemma w_nu : bounded_by (2 * 2)%nat 2%nat (metric W) (b W) 1 (slope 2 2 (P W)).
Proof.
  destruct (the_paper_s_v_holds 2%nat 2%nat 2%nat (P W) (w W) (b W) 1) as [_ H]; try lia.
  - intros. rewrite w_moves. lra.
  - intros. simpl. rewrite !w_moves. lra.
  - intros. rewrite w_b. lra.
  - intros. simpl. rewrite !w_b, !w_moves, w_w. lra.
  - apply H. intros. unfold metric. rewrite table_pair; auto.
Qed.
Definition L_below (W_0 : R) := 1 / 2 + 2 * (19 / 20 * 1 + 1) ^ 2 + 19 / 20 * (1 + W_0).
Lemma smoothness_of_w : forall W_0, 0 <= W_0 -> smooth (2 * 2) (metric W) (g W) (L_below W_0)
  (entropy W + W_0) (gradient_g W).
Proof.
  intros W_0 H. apply (smoothness_below_a_level_holds W W_0 1 1 (1 + W_0) w_counts w_s ltac:(lra)
    ltac:(lra) ltac:(lra) w_nu).
  - intros. rewrite w_b, w_w. lra.
  - intros. simpl. rewrite !w_b, !w_moves, w_w. nra.
Qed.
Definition L_of_w := L_below 1.
Lemma w_steps : exists alpha c tau, 0 < c /\ two_steps W alpha 1 c L_of_w 1 1 tau.
Proof.
  destruct (constants_are_positive_holds W 1 (metric W) w_counts w_s w_f ltac:(lra) metric_below)
    as [alpha [c [A [Hc Pc]]]].
  exists alpha, c, (Rmin (1 / L_of_w) (1 / (sqrt 48 * (19 / 20) ^ 2 * 1 ^ 2))). split; [auto |].
  assert (S48 : 0 < sqrt 48) by (apply sqrt_lt_R0; lra).
  assert (HL : 0 < L_of_w) by (unfold L_of_w, L_below; lra).
  split; [apply w_counts |]. split; [apply w_s |]. split; [exact A |]. split; [exact Pc |].
  split; [exact (smoothness_of_w 1 ltac:(lra)) |]. split; [exact w_nu |]. split; [lra |]. split; [lra |].
  split; [exact HL |]. split; [| split; [apply Rmin_l | left; apply Rmin_r]].
  apply Rmin_glb_lt; apply Rdiv_lt_0_compat; try lra.
Qed.
Example theorem_6_of_w : exists tau rate, 0 < rate /\ forall q zeta, falls W 1 1 tau q zeta <= 1 ->
  falls W 1 1 tau (step_q W tau q zeta) (step_zeta W 1 (step_q W tau q zeta) zeta) <=
  (1 - rate) * falls W 1 1 tau q zeta.
Proof.
  destruct w_steps as [alpha [c [tau [Hc T]]]]. exists tau, (Rmin (tau * c / 2) (1 / 2)). split.
  - destruct T as [_ [_ [_ [_ [_ [_ [_ [_ [_ [Ht _]]]]]]]]]].
    apply Rmin_glb_lt; [| lra]. assert (0 < tau * c) by (apply Rmult_lt_0_compat; auto). lra.
  - apply (theorem_6_holds W alpha 1 c L_of_w 1 1 tau T).
Qed.
Example theorem_6_many_of_w : exists tau rate, 0 < rate /\ forall q zeta,
  falls W 1 1 tau q zeta <= 1 -> forall t, let (q', zeta') := steps W 1 tau q zeta t in
  falls W 1 1 tau q' zeta' <= (1 - rate) ^ t * falls W 1 1 tau q zeta.
Proof.
  destruct w_steps as [alpha [c [tau [Hc T]]]]. exists tau, (Rmin (tau * c / 2) (1 / 2)). split.
  - destruct T as [_ [_ [_ [_ [_ [_ [_ [_ [_ [Ht _]]]]]]]]]].
    apply Rmin_glb_lt; [| lra]. assert (0 < tau * c) by (apply Rmult_lt_0_compat; auto). lra.
  - apply (theorem_6_many_steps_holds W alpha 1 c L_of_w 1 1 tau T (Rlt_le _ _ Hc)).
Qed.
Example every_start_of_w := linear_from_every_start_holds W 1 (fun _ => 3) (fun _ => 5) w_counts w_s w_f
  ltac:(lra).

Lemma derivative_of_w : derivative_of_v (PV W) (slope 2 2 (P W)).
Proof. intros q p j s. apply (ahead_curve 2 2 (P W) (along q p)); [lia | apply line]. Qed.
Lemma w_gap : forall q, 0 <= g W q - entropy W.
Proof. apply (gap_pos W w_counts w_s). Qed.
Lemma w_least : forall q, entropy W <= g W q.
Proof. intros q. pose proof (w_gap q). lra. Qed.
Lemma w_pl : forall W_0, 0 <= W_0 -> exists c, 0 < c /\
  pl (2 * 2) (metric W) (g W) c (entropy W) (entropy W + W_0) (gradient_g W).
Proof.
  intros W_0 H. destruct (constants_are_positive_holds W W_0 (metric W) w_counts w_s w_f H metric_below)
    as [alpha [c [A [Hc Pc]]]]. exists c. split; [auto |]. intros q Hq.
  rewrite (size_metric W w_counts w_s).
  apply (pl_of_tables_holds W alpha (metric W) W_0 c w_counts w_s A metric_below Pc). lra.
Qed.
Lemma L_positive : forall W_0, 0 <= W_0 -> 0 < L_below W_0.
Proof. intros. unfold L_below. lra. Qed.
(* in the metric of visits, from every table *)
Example zeta_exact_of_w : forall q, exists rate, 0 < rate /\ forall t,
  g W (iterate (L_below (g W q - entropy W)) (gradient_g W) q t) - entropy W <=
  (1 - rate) ^ t * (g W q - entropy W).
Proof.
  intros q. set (W_0 := g W q - entropy W). pose proof (w_gap q : 0 <= W_0) as H.
  destruct (w_pl W_0 H) as [c [Hc Pl]]. pose proof (L_positive W_0 H) as HL.
  assert (E : entropy W + W_0 = g W q) by (unfold W_0; ring).
  exists (c / L_below W_0). split; [apply Rdiv_lt_0_compat; auto |].
  pose proof (smoothness_of_w W_0 H) as Sm. rewrite E in *.
  apply (zeta_exact_holds (2 * 2)%nat (metric W) (g W) (gradient_g W) (entropy W) (L_below W_0) c q);
    [| apply the_gradients_hold; [apply w_counts | apply w_s] | exact Sm | exact Pl | exact w_least | exact HL].
  intros i. destruct (the_gradients_hold W w_counts w_s) as [[M _] _]. apply M.
Qed.
Example two_time_scales_of_w : exists tau rate, 0 < rate /\ forall q z,
  lyapunov 2 (b W) (g W) (PV W) (entropy W) 1 1 tau q z <= 1 ->
  let q' := next_q tau (gradient_f W) q z in
  lyapunov 2 (b W) (g W) (PV W) (entropy W) 1 1 tau q' (next_z (PV W) 1 q' z) <=
  (1 - rate) * lyapunov 2 (b W) (g W) (PV W) (entropy W) 1 1 tau q z.
Proof.
  destruct (w_pl 1 ltac:(lra)) as [c [Hc Pl]]. destruct w_steps as [alpha [c' [tau [_ T]]]].
  destruct T as [_ [_ [_ [_ [Sm [_ [_ [_ [HL [Ht [HtL H48]]]]]]]]]]].
  exists tau, (Rmin (tau * c / 2) (1 / 2)). split.
  { apply Rmin_glb_lt; [| lra]. assert (0 < tau * c) by (apply Rmult_lt_0_compat; auto). lra. }
  destruct (the_gradients_hold W w_counts w_s) as [Wp [DG DF]]. intros q z H q'.
  apply (two_time_scales_holds (2 * 2)%nat 2%nat (metric W) (b W) (beta W) (g W) (PV W) (gradient_g W)
    (slope 2 2 (P W)) (gradient_f W) (entropy W) 1 L_of_w c 1 1 tau Wp DG derivative_of_w DF w_nu Sm Pl
    w_least ltac:(simpl; lra) ltac:(lra) ltac:(lra) HL Ht HtL H48 q z H).
Qed.

(* in the metric 1, for outputs that are the parameters: the gradient is half as long there *)
Definition risk_own (theta : vector) := g W (own 4 theta).
Definition G_own := gradient_in_theta W (own 4) (fun _ => one).
Lemma G_own_is : forall theta i, (i < 4)%nat ->
  G_own theta i = 1 / 2 * gradient_g W (own 4 theta) i.
Proof.
  intros theta i Hi. unfold G_own, gradient_in_theta. change (states W * actions W)%nat with 4%nat.
  rewrite (sum_ext 4 _ (fun j => one j i * table (actions W) (slope_g W (own 4 theta)) j))
    by (intros; unfold one; rewrite Nat.eqb_sym; auto).
  rewrite sum_one by auto. unfold gradient_g, table. rewrite w_w. field.
Qed.
Lemma own_along : forall theta p s, own 4 (along theta p s) = along (own 4 theta) (own 4 p) s.
Proof.
  intros. apply functional_extensionality. intros i. unfold own, along.
  destruct (Nat.ltb i 4); ring.
Qed.
Lemma metric_half : forall i, (i < 4)%nat -> metric W i = 1 / 2.
Proof. intros. unfold metric, table. apply w_w. Qed.
Lemma own_metric : forall p, dot 4 (metric W) (own 4 p) (own 4 p) = 1 / 2 * dot 4 constant_one p p.
Proof.
  intros p. rewrite !dot_sum, <- sum_scal. apply sum_ext. intros i Hi. rewrite metric_half by auto.
  unfold own, constant_one. destruct (Nat.ltb_spec i 4); [ring | lia].
Qed.
Lemma G_metric : forall theta p,
  dot 4 constant_one (less (G_own (along theta p 1)) (G_own theta)) (less (G_own (along theta p 1)) (G_own theta)) =
  1 / 2 * dot 4 (metric W) (less (gradient_g W (own 4 (along theta p 1))) (gradient_g W (own 4 theta)))
    (less (gradient_g W (own 4 (along theta p 1))) (gradient_g W (own 4 theta))).
Proof.
  intros theta p. rewrite !dot_sum, <- sum_scal. apply sum_ext. intros i Hi. rewrite metric_half by auto.
  unfold less, constant_one. rewrite !G_own_is by auto. field.
Qed.
Lemma smooth_own : forall W_0, 0 <= W_0 -> forall theta p,
  (forall s, 0 <= s <= 1 -> risk_own (along theta p s) <= entropy W + W_0) ->
  dot 4 constant_one (less (G_own (along theta p 1)) (G_own theta)) (less (G_own (along theta p 1)) (G_own theta)) <=
  (1 / 2 * L_below W_0) ^ 2 * dot 4 constant_one p p.
Proof.
  intros W_0 H theta p B. rewrite G_metric.
  pose proof (smoothness_of_w W_0 H (own 4 theta) (own 4 p)) as Q.
  rewrite own_metric, <- own_along in Q. change (2 * 2)%nat with 4%nat in Q.
  specialize (Q ltac:(intros s Hs; rewrite <- own_along; apply B; auto)). lra.
Qed.
Example descent_of_w : forall theta, exists L rate, 0 < rate /\ forall t,
  risk_own (iterate L G_own theta t) - entropy W <= (1 - rate) ^ t * (risk_own theta - entropy W).
Proof.
  intros theta. set (W_0 := risk_own theta - entropy W). pose proof (w_gap _ : 0 <= W_0) as H.
  pose proof (L_positive W_0 H) as HL.
  destruct (constants_are_positive_holds W W_0 constant_one w_counts w_s w_f H one_below)
    as [alpha [c [A [Hc Pc]]]].
  exists (1 / 2 * L_below W_0), (1 * c / (1 / 2 * L_below W_0)).
  split; [apply Rdiv_lt_0_compat; lra |].
  apply (theorem_5_holds W alpha c 4%nat (own 4) (fun _ => one) 1 (1 / 2 * L_below W_0) theta w_counts w_s A Pc
    (own_jacobian 4) ltac:(lra) (fun t _ => own_conditioned 4 t)); [| lra].
  intros q p B. apply (smooth_own W_0 H). intros s Hs. replace (entropy W + W_0) with (risk_own theta)
    by (unfold W_0; ring). apply B; auto.
Qed.

(* the risk is continuous along sequences of tables *)
Definition follows (phi : vector -> R) := forall u l, tends 4 u l ->
  Un_cv (fun t => phi (u t)) (phi l).
Lemma follows_constant : forall c, follows (fun _ => c).
Proof.
  intros c u l _ eps He. exists 0%nat. intros t _. unfold R_dist. rewrite Rminus_diag_eq, Rabs_R0; auto.
Qed.
Lemma follows_plus : forall x y, follows x -> follows y -> follows (fun q => x q + y q).
Proof. intros x y A B u l H. apply (CV_plus _ _ _ _ (A u l H) (B u l H)). Qed.
Lemma follows_times : forall x y, follows x -> follows y -> follows (fun q => x q * y q).
Proof. intros x y A B u l H. apply (CV_mult _ _ _ _ (A u l H) (B u l H)). Qed.
Lemma follows_sum : forall n x, (forall i, (i < n)%nat -> follows (fun q => x q i)) ->
  follows (fun q => sum n (x q)).
Proof.
  induction n; intros x H; simpl; [apply follows_constant |].
  apply (follows_plus (fun q => sum n (x q)) (fun q => x q n)); auto.
Qed.
Lemma follows_through : forall phi psi, (forall q, continuity_pt psi (phi q)) -> follows phi ->
  follows (fun q => psi (phi q)).
Proof.
  intros phi psi Cont A u l H. apply (continuity_seq psi (fun t => phi (u t)) (phi l)); auto.
Qed.
Lemma follows_entry : forall i, follows (fun q => own 4 q i).
Proof.
  intros i u l H. unfold own. destruct (Nat.ltb_spec i 4) as [L | L]; [apply H; auto |].
  apply (follows_constant 0 u l H).
Qed.
Lemma follows_value : forall x, follows (fun q => value 2 (own 4 q) x).
Proof.
  intros x. apply (follows_through (fun q => total 2 (own 4 q) x) ln).
  - intros q. apply derivable_continuous_pt. exists (/ total 2 (own 4 q) x).
    apply derivable_pt_lim_ln. apply total_pos. lia.
  - apply (follows_sum 2 (fun q k => exp (own 4 q (pair 2 x k)))). intros k _.
    apply (follows_through (fun q => own 4 q (pair 2 x k)) exp); [| apply follows_entry].
    intros q. apply derivable_continuous_pt. apply derivable_pt_exp.
Qed.
Lemma follows_risk : follows risk_own.
Proof.
  intros u l H. unfold risk_own.
  assert (E : forall q, g W q = sum 2 (fun x => w W x * sum 2 (fun k => frequency W x k *
      (-1 * q (pair 2 x k) + value 2 q x))) +
    sum 2 (fun x => b W x * (residual W q x * residual W q x))).
  { intros q. rewrite (g_is W w_counts w_s). f_equal.
    - unfold nll. change (states W) with 2%nat. change (actions W) with 2%nat. apply sum_ext. intros x _.
      f_equal. apply sum_ext. intros k _. rewrite (log_choice (actions W) q x k) by (simpl; lia). change (actions W) with 2%nat. ring.
    - change (states W) with 2%nat. apply sum_ext. intros. ring. }
  assert (Fo : follows (fun q => g W (own 4 q))); [| exact (Fo u l H)].
  intros u' l' H'. rewrite E. replace (fun t => g W (own 4 (u' t))) with (fun t =>
    sum 2 (fun x => w W x * sum 2 (fun k => frequency W x k * (-1 * own 4 (u' t) (pair 2 x k) +
      value 2 (own 4 (u' t)) x))) +
    sum 2 (fun x => b W x * (residual W (own 4 (u' t)) x * residual W (own 4 (u' t)) x)))
    by (apply functional_extensionality; intros; rewrite E; auto).
  revert u' l' H'.
  change (follows (fun q => sum 2 (fun x => w W x * sum 2 (fun k => frequency W x k *
      (-1 * own 4 q (pair 2 x k) + value 2 (own 4 q) x))) +
    sum 2 (fun x => b W x * (residual W (own 4 q) x * residual W (own 4 q) x)))).
  assert (Res : forall x, follows (fun q => residual W (own 4 q) x)).
  { intros x. unfold residual. change (actions W) with 2%nat.
    apply (follows_plus (fun q => reward W x + beta W * PV W (own 4 q) x)
      (fun q => - own 4 q (pair 2 x (anchor W x)))).
    - apply (follows_plus (fun _ => reward W x) (fun q => beta W * PV W (own 4 q) x));
        [apply follows_constant |].
      apply (follows_times (fun _ => beta W) (fun q => PV W (own 4 q) x)); [apply follows_constant |].
      apply (follows_sum 2 (fun q y => P W x y * value 2 (own 4 q) y)). intros y _.
      apply (follows_times (fun _ => P W x y) (fun q => value 2 (own 4 q) y));
        [apply follows_constant | apply follows_value].
    - intros u' l' H'. apply CV_opp. apply (follows_entry _ u' l' H'). }
  apply (follows_plus (fun q => sum 2 (fun x => w W x * sum 2 (fun k => frequency W x k *
      (-1 * own 4 q (pair 2 x k) + value 2 (own 4 q) x))))
    (fun q => sum 2 (fun x => b W x * (residual W (own 4 q) x * residual W (own 4 q) x)))).
  - apply (follows_sum 2 (fun q x => w W x * sum 2 (fun k => frequency W x k *
      (-1 * own 4 q (pair 2 x k) + value 2 (own 4 q) x)))). intros x _.
    apply (follows_times (fun _ => w W x)); [apply follows_constant |].
    apply (follows_sum 2 (fun q k => frequency W x k * (-1 * own 4 q (pair 2 x k) + value 2 (own 4 q) x))).
    intros k _. apply (follows_times (fun _ => frequency W x k)); [apply follows_constant |].
    apply (follows_plus (fun q => -1 * own 4 q (pair 2 x k))); [| apply follows_value].
    apply (follows_times (fun _ => -1)); [apply follows_constant | apply follows_entry].
  - apply (follows_sum 2 (fun q x => b W x * (residual W (own 4 q) x * residual W (own 4 q) x))).
    intros x _. apply (follows_times (fun _ => b W x)); [apply follows_constant |].
    apply (follows_times (fun q => residual W (own 4 q) x)); apply Res.
Qed.
Example descent_in_a_ball_of_w : forall theta, exists L l, tends 4 (iterate L G_own theta) l /\
  risk_own l = entropy W.
Proof.
  intros theta. set (W_0 := risk_own theta - entropy W). pose proof (w_gap _ : 0 <= W_0) as H.
  pose proof (L_positive W_0 H) as HL.
  destruct (constants_are_positive_holds W W_0 constant_one w_counts w_s w_f H one_below)
    as [alpha [c [A [Hc Pc]]]].
  exists (1 / 2 * L_below W_0).
  apply (theorem_13_holds W alpha c 4%nat (own 4) (fun _ => one) 1 (1 / 2 * L_below W_0) theta w_counts w_s A
    Pc ltac:(lra) Hc ltac:(lra) (own_jacobian 4) follows_risk (fun t _ => own_conditioned 4 t)).
  intros x p B. apply below_root; [apply Rmult_le_pos; [lra | apply norm_pos] |].
  rewrite Rpow_mult_distr, !norm_squared. apply (smooth_own W_0 H). intros s Hs.
  replace (entropy W + W_0) with (risk_own theta) by (unfold W_0; ring). apply B; auto.
Qed.

(* --- Theorems 7 to 10 and 12 *)
Example shifts_of_w := objective_along_shifts_holds W nought 1 2 w_counts w_s w_no_residual.
Example flow_of_the_level := flow_gradient (19 / 20) 1 1 2 ltac:(lra).
Example slowest_of_the_level := slowest_rate_exists (19 / 20) 1.
Example best_of_the_level := level_best (19 / 20) ltac:(lra).
Example exact_of_the_level := level_with_zeta_exact (19 / 20) ltac:(lra).

Definition O : data := {| states := 1; actions := 1; all_states := 1; count := fun _ _ _ => 1;
  anchor := fun _ => 0%nat; reward := fun _ => 1; beta := 19 / 20 |}.
Lemma o_counts : counts O.
Proof. unfold counts, O; simpl. repeat split; intros; try lra; lia. Qed.
Lemma o_s : condition_S O.
Proof. unfold condition_S, taken, O; simpl. intros. split; intros; [lra | lia]. Qed.
Example level_of_o := one_state_one_action_holds O o_counts o_s eq_refl eq_refl.
Example flow_of_o : let q := constant 20 in let s := shifted q 1 in let z := shifted (PV O q) 2 in
  let kappa := - slope_f O s z 0 0 in
  let size := dot (1 * 1) constant_one (constant 1) (constant 1) in
  kappa = share O / size * flow_c (19 / 20) 1 2.
Proof.
  intros q s z kappa size. destruct level_of_o as [E _].
  assert (Q : no_residual O q).
  { replace q with (constant (reward O 0%nat / (1 - beta O))); [exact E |].
    unfold q. f_equal. simpl. field. }
  apply (flow_along_shifts_holds O q 1 2 constant_one (fun _ => slope_f O s z 0 0) kappa 1
    o_counts o_s Q).
  - intros p. destruct (the_slopes_hold O o_counts o_s (along s p) p 0 (line s p 0)) as [_ F].
    specialize (F z). rewrite along_0 in F.
    replace (dot (states O * actions O) constant_one (fun _ => slope_f O s z 0 0) p) with
      (sum (states O) (fun x => sum (actions O) (fun k =>
        slope_f O s z x k * p (pair (actions O) x k)))); [exact F |].
    unfold constant_one. simpl. unfold pair. simpl. ring.
  - intros i _. auto.
  - simpl. unfold constant_one, constant. lra.
Qed.

Lemma w_dobrushin : dobrushin W 0.
Proof.
  intros x y _ _. rewrite (sum_ext _ _ (fun _ => 0)), sum_const; [lra |].
  intros. rewrite !w_moves, Rminus_diag_eq, Rabs_R0; auto.
Qed.
Example hessian_of_w := theorem_8_holds W nought 0 (1 / 4) (1 / 4) w_counts w_s w_f w_coordinates
  w_dobrushin ltac:(simpl; lra) ltac:(split; intros; [| rewrite w_w, w_frequency]; lra)
  ltac:(split; intros; [| rewrite w_b]; lra).
Definition W' : data := {| states := 2; actions := 2; all_states := 2; count := fun _ _ _ => 1;
  anchor := fun _ => 0%nat; reward := fun _ => 7; beta := 1 / 2 |}.
Lemma w'_counts : counts W'.
Proof. unfold counts, W'; simpl. repeat split; intros; try lra; lia. Qed.
Example reset_of_w := theorem_8_reset_holds W W' w_counts w_s w'_counts eq_refl eq_refl eq_refl eq_refl
  eq_refl ltac:(intros; rewrite !w_moves; auto).
Example closed_form_of_w : exists alpha, forall q, exists q',
  (forall x, (x < states W)%nat -> residual W q' x = 0) /\
  forall x, (x < states W)%nat -> 0 < alpha x (kl W q x) /\
    kl W q' x <= (1 - 2 * alpha x (kl W q x)) * kl W q x.
Proof.
  destruct positive_of_w as [alpha [c [A _]]]. exists alpha. intros q.
  destruct (theorem_9_holds W alpha q w_counts w_s A) as [q' [R [_ H]]]. exists q'.
  split; [auto |]. intros x Hx. split; [| auto].
  apply (A x (kl W q x) Hx). apply kl_nonneg; auto using w_counts, w_s.
Qed.
(* a truth in which states stay where they are, unlike the data, and other choices *)
Definition v_of_truth : vector := fun _ => (- (19 / 20 * ln 2) - ln (1 / 4)) / (1 - 19 / 20).
Lemma truth : forall x, (x < states W)%nat -> v_of_truth x - beta W *
  sum (states W) (fun y => one x y * v_of_truth y) = reward W x - ln (1 / 4).
Proof.
  intros x Hx. rewrite (sum_ext _ _ (fun y => one y x * v_of_truth y))
    by (intros; unfold one; rewrite Nat.eqb_sym; auto).
  rewrite sum_one by auto. unfold v_of_truth. change (beta W) with (19 / 20). change (reward W x) with (- (19 / 20 * ln 2)). field.
Qed.
Example error_of_w := theorem_10_holds W (fun _ _ => ln (1 / 4)) one v_of_truth nought w_counts w_s truth
  w_coordinates.
Example rewards_of_two_states := theorem_12_holds 2%nat 2%nat 1%nat (fun _ _ => 1) (fun _ _ _ => 1 / 2)
  (1 / 2) (fun x _ _ => INR x) ltac:(split; [lia | split; [lia | lra]])
  ltac:(intros x a _ _; split; [simpl; lra | intros; lra]).
Lemma u_of_two_states : 0 < N 2 2 (fun _ _ => 1) /\ forall s, (s < 2)%nat ->
  0 <= u 2 2 (fun _ _ => 1) (fun _ _ _ => 1 / 2) (1 / 2) s.
Proof.
  split; [unfold N; simpl; lra |]. intros s Hs. unfold u, w_plus, N. simpl.
  apply Rle_trans with (1 / 4); [lra | right; field].
Qed.

(* --- Theorem 15 *)
Example inner_step_of_w := inner_step_holds W nought (PV W nought) w_counts w_s.
Example envelope_of_w := envelope_holds W (along nought low) low 0 (PV W (along nought low 0)) w_counts w_s
  (line nought low 0) (fun x _ => eq_refl).
Example level_step_of_w := level_step_holds W low w_counts w_s.
Example fixed_point_of_w : fixed_point W nought (PV W nought).
Proof.
  destruct (fixed_points_hold W nought (PV W nought) w_counts w_s) as [_ H]. apply (H w_f).
  split; [apply w_solution | intros x _; auto].
Qed.
Lemma one_more : forall a s, derivable_pt_lim (fun t => a + t) s 1.
Proof.
  intros a s. replace 1 with (0 + 1) by ring. apply (derivable_pt_lim_plus (fun _ => a) id);
    [apply derivable_pt_lim_const | apply derivable_pt_lim_id].
Qed.
(* one feature that moves, 1 + t in both states; its best weight at 0 is the mean of P V *)
Example moving_class_of_w : exists l, derivable_pt_lim (fun t => f W nought (combined 1 (constant (ln 2))
  (fun _ => constant (1 + t)))) 0 l.
Proof.
  eexists. apply (moving_class_holds W 1%nat (fun _ => nought) (constant 0) (fun _ => constant (ln 2))
    (constant 0) (fun t _ => constant (1 + t)) (fun _ => constant 1) 0 w_counts w_s).
  - intros i. apply derivable_pt_lim_const.
  - intros i. apply derivable_pt_lim_const.
  - intros k i. apply one_more.
  - intros other. apply (proj2 (inner_step_holds W nought _ w_counts w_s)). intros x Hx. unfold combined, constant, PV, ahead.
    change (states W) with 2%nat. change (actions W) with 2%nat. cbn [sum].
    rewrite !w_moves, !value_nought. field.
Qed.
(* of two states one ends all its paths: the shift at which the residuals add up to 0 raises the squares *)
Definition goes_on (x : nat) : R := if Nat.eqb x 0 then 1 else 0.
Example ends_of_two := level_with_ends_holds 2%nat (fun _ => 1) goes_on goes_on (19 / 20) ltac:(lra)
  ltac:(simpl; lra) ltac:(intros x _; unfold goes_on; destruct (Nat.eqb x 0); lra).
Example ends_raise_the_squares :
  let squares := fun c => sum 2 (fun x => 1 * (goes_on x - (1 - 19 / 20 * goes_on x) * c) ^ 2) in
  let c := sum 2 (fun x => 1 * goes_on x) / sum 2 (fun x => 1 * (1 - 19 / 20 * goes_on x)) in
  squares 0 < squares c.
Proof. simpl. unfold goes_on. simpl. lra. Qed.

(* --- the paper's lemmas *)
Example lemma_1_of_w := lemma_1_holds W w_counts w_s w_f.
Example theorem_3_of_w := theorem_3_of_the_paper_holds W nought w_counts w_s w_f w_solution.
Example theorem_5_of_w := theorem_5_of_the_paper_holds W nought w_counts w_s w_f w_solution.
Example lemma_22_of_w := lemma_22_holds W nought w_counts w_s w_f w_solution.
Example anchor_argmin_of_w := anchor_argmin_holds W w_counts w_s w_f.
Example lemma_4_of_halves := lemma_4_holds 2%nat (fun _ => 1 / 2) INR 1 (19 / 20) 3
  ltac:(intros; lra) ltac:(simpl; lra).
Example parabola_of_w := parabola_holds W nought 1 w_counts w_s w_no_residual.
Example unbounded_of_w := unbounded_below_holds W nought w_counts w_s w_no_residual ltac:(simpl; lra).
Example stationary_of_w := stationary_holds W nought w_counts w_s w_solution.
Example no_saddle_of_w := no_saddle_holds W w_counts w_s w_f ltac:(simpl; lra).
Lemma between : forall x, Rabs x <= 1 -> -1 <= x <= 1.
Proof. intros x H. pose proof (Rle_abs x). pose proof (Rle_abs (- x)). rewrite Rabs_Ropp in *. lra. Qed.
Lemma near_nought : forall r x, (forall i, (i < 2 * 2)%nat -> Rabs (r i - nought i) <= 1) ->
  (x < 2)%nat -> Rabs (PV W nought x - PV W r x) <= 1.
Proof.
  intros r x H Hx.
  assert (V : forall y, (y < 2)%nat -> Rabs (value 2 nought y - value 2 r y) <= 1).
  { intros y Hy.
    assert (R : forall k, (k < 2)%nat -> Rabs (r (pair 2 y k)) <= 1).
    { intros k Hk. pose proof (H (pair 2 y k) ltac:(unfold pair; lia)) as Q.
      unfold nought in Q. rewrite Rminus_0_r in Q. exact Q. }
    assert (A : forall k, (k < 2)%nat -> -1 <= r (pair 2 y k) <= 1)
      by (intros k Hk; apply between; auto).
    pose proof (value_mono 2 r (shifted nought 1) y ltac:(lia)) as U.
    pose proof (value_mono 2 (shifted nought (-1)) r y ltac:(lia)) as D.
    rewrite value_shift in U, D by lia. apply Rabs_le. split.
    - assert (value 2 r y <= value 2 nought y + 1); [| lra].
      apply U. intros k Hk. unfold shifted, nought. destruct (A k Hk). lra.
    - assert (value 2 nought y + -1 <= value 2 r y); [| lra].
      apply D. intros k Hk. unfold shifted, nought. destruct (A k Hk). lra. }
  unfold PV, ahead. change (states W) with 2%nat. change (actions W) with 2%nat. simpl.
  rewrite !w_moves. pose proof (V 0%nat ltac:(lia)) as V0. pose proof (V 1%nat ltac:(lia)) as V1.
  apply between in V0. apply between in V1. apply Rabs_le. lra.
Qed.
Example no_pl_of_w : forall mu, 0 < mu ->
  ~ dot (states W * actions W) constant_one nought nought / 2 >=
    mu * (f W nought (PV W nought) - (entropy W - 1)).
Proof.
  intros mu Hmu. pose proof (no_pl_in_q_holds W nought 1 mu (entropy W - 1) nought w_counts w_s w_solution)
    as Q. cbv zeta in Q. apply Q; clear Q; [change (1 / 2 < 19 / 20); lra | lra | exact Hmu | |].
  - intros p. replace (dot (states W * actions W) constant_one nought p) with 0.
    + destruct stationary_of_w as [St _]. exact (St p).
    + rewrite dot_sum, (sum_ext _ _ (fun _ => 0)), sum_const; [ring |].
      intros. unfold nought. ring.
  - intros r H. destruct (profile_of_w r (PV W nought)) as [E _]. rewrite E, dot_square.
    destruct (least_value_of_w) as [B _]. pose proof (B r).
    change (states W) with 2%nat. change (beta W) with (19 / 20). cbn [sum]. rewrite !w_b.
    pose proof (near_nought r 0%nat H ltac:(lia)) as A0.
    pose proof (near_nought r 1%nat H ltac:(lia)) as A1. unfold off, less.
    apply between in A0. apply between in A1.
    set (d0 := PV W nought 0%nat - PV W r 0%nat) in *.
    set (d1 := PV W nought 1%nat - PV W r 1%nat) in *.
    assert (d0 ^ 2 <= 1) by nra. assert (d1 ^ 2 <= 1) by nra. lra.
Qed.
Lemma numbers_are_null : null_sets nat (fun A => ~ A 0%nat).
Proof.
  split; [auto |]. split; [intros A B H N Q; apply N; auto |].
  intros A H [n Q]. exact (H n Q).
Qed.
Example support_of_numbers := support_is_s_bar_holds nat (fun n t => t = n) (fun A => ~ A 0%nat)
  numbers_are_null.
Example fewer_parameters_of_one_by_two := fewer_parameters_holds 1%nat 2%nat (fun _ => INR) 1
  ltac:(lia) ltac:(lra).

Example lemma_27_of_halves := lemma_27_holds 2%nat 2%nat (fun _ _ _ => 1 / 2) (fun _ => 0%nat) (19 / 20)
  (fun _ => 1 / 2) nought (fun _ => 1 / 2) ltac:(lra) ltac:(lia) ltac:(intros; split; [lia | lra])
  ltac:(intros; lra) ltac:(intros y Hy; cbn [sum]; rewrite !choice_nought; lra).

(* --- Z: rewards only where the first state's first action was taken; the second state follows it *)
Definition Z : sample := {| evaluated := 2; acts := 2; rows := 1; discount := 19 / 20;
  nll_weight := fun x => if Nat.eqb x 0 then 1 else 0; shares := fun _ _ => 1 / 2;
  row_state := fun _ => 0%nat; row_action := fun _ => 0%nat; row_reward := fun _ => 1;
  be_weight := fun _ => 1 / 2; row_moves := fun _ _ => 1 / 2 |}.
Lemma z_valid : valid Z.
Proof.
  unfold valid, Z; simpl. split; [lia |]. split; [lia |]. split; [lra |]. split; [| split].
  - intros x Hx. split; [destruct (Nat.eqb x 0); lra |]. split; [lra | intros; lra].
  - intros j Hj. split; [lia |]. split; [lia |]. split; [lra |]. split; [lra | intros; lra].
  - intros i j Hi Hj _. lia.
Qed.
Lemma z_weights : mean_weights Z.
Proof. unfold mean_weights, Z; simpl. split; [lra |]. split; [lra | intros; lra]. Qed.
Lemma z_nll : nll_least Z 1.
Proof. split; [lra |]. unfold Z; simpl. intros x _. destruct (Nat.eqb x 0); lra. Qed.
Lemma z_be : be_between Z (1 / 2) (1 / 2).
Proof. split; [lra |]. split; [lra |]. intros. simpl. lra. Qed.
Lemma z_outputs : forall theta, outputs_at Z 4 (own 4) one 1 theta.
Proof.
  intros theta. split; [intros p i; apply (own_line 4 theta p 0 i) |]. intros t.
  unfold square_of, Z. simpl. unfold one, pair. simpl. nra.
Qed.
Definition ball_of_one (q : vector) := forall i, (i < 4)%nat -> -1 <= q i <= 1.
Lemma z_within : forall q, ball_of_one q -> within Z (-1) 1 (own 4 q).
Proof.
  intros q H x k Hx Hk. simpl in *. assert (L : (pair 2 x k < 4)%nat) by (unfold pair; lia).
  unfold own. destruct (Nat.ltb_spec (pair 2 x k) 4); [apply H; auto | lia].
Qed.
(* the infimum is at most what a point of the ball has *)
Lemma nought_in : ball_of_one nought.
Proof. intros i _. unfold nought. lra. Qed.
Lemma z_infimum : forall phi, infimum phi (own 4) ball_of_one (phi (own 4 nought)).
Proof. intros phi l H. apply H. apply nought_in. Qed.

Example lemma_24_of_z := lemma_24_holds Z (be_of Z) (be_slope Z) 4%nat (own 4) one 1 nought
  (2 * gamma2 Z * ((1 / 2) ^ 2 / (1 / 2))) 0 (be_differentiable Z z_valid) (z_outputs nought) ltac:(lra)
  ltac:(cbv zeta; rewrite Rminus_0_r; pose proof (be_pl Z z_valid (1 / 2) (1 / 2) (own 4 nought) z_be);
    lra).
Example lemma_25_of_z := lemma_25_holds Z z_valid.
Example lemma_8_of_z := lemma_8_holds Z (1 / 2) (1 / 2) 4%nat (own 4) one 1 nought z_valid z_be
  (z_outputs nought) ltac:(lra).
Example lemma_9_of_z := lemma_9_holds Z (-1) 1 1 4%nat (own 4) one 1 ball_of_one nought
  (nll_of Z (own 4 nought)) z_valid z_nll z_within nought_in (z_infimum (nll_of Z)) (z_outputs nought)
  ltac:(lra).
Example c_par_of_z := c_par_is_finite_holds Z z_valid.
Example lemma_26_of_z : exists C, forall q, square_of Z (risk_slope Z q) >=
  1 / (2 * (1 + kappa2 Z C)) * square_of Z (nll_slope Z q) + gamma2 Z * be_of Z q.
Proof.
  destruct c_par_of_z as [C HC]. exists C. intros q.
  pose proof (lemma_26_holds Z C (1 / 2) (1 / 2) q z_valid (HC q) z_be) as Q.
  replace (2 * gamma2 Z * ((1 / 2) ^ 2 / (1 / 2))) with (gamma2 Z) in Q by field. exact Q.
Qed.
Example theorem_11_of_z : exists c, 0 < c /\ forall theta, ball_of_one theta ->
  pl_at Z 4 (own 4) one (risk_of Z) (risk_slope Z (own 4 theta)) (c * 1)
    (risk_of Z (own 4 nought)) theta.
Proof.
  destruct c_par_of_z as [C HC]. eexists. split; [| intros theta H; apply (theorem_11_holds Z (-1) 1 C 1
    (1 / 2) (1 / 2) 4%nat (own 4) one 1 ball_of_one theta _ z_valid z_nll z_be z_within H
    (HC (own 4 theta)) (z_infimum (risk_of Z)) (z_outputs theta) ltac:(lra))].
  apply (theorem_11_holds Z (-1) 1 C 1 (1 / 2) (1 / 2) 4%nat (own 4) one 1 ball_of_one nought _ z_valid
    z_nll z_be z_within nought_in (HC (own 4 nought)) (z_infimum (risk_of Z)) (z_outputs nought)
    ltac:(lra)).
Qed.
Example lemma_10_of_two := lemma_10_holds 2%nat 2%nat (fun _ => 1 / 2) INR (19 / 20) (1 / 2) (own 2) one 1
  (fun _ => 3) ltac:(intros; lra) ltac:(lra) ltac:(lra) (fun p i => own_line 2 _ p 0 i)
  ltac:(intros t; rewrite own_square; lra).

(* a line of outputs that bends: s^2 at the first pair *)
Definition bent (s : R) : vector := fun i => if Nat.eqb i 0 then s ^ 2 else s.
Definition bent' (s : R) : vector := fun i => if Nat.eqb i 0 then 2 * s else 1.
Definition bent'' (s : R) : vector := fun i => if Nat.eqb i 0 then 2 else 0.
Lemma bent_line : line_of_outputs bent bent' bent''.
Proof.
  intros s. split; intros i; unfold bent, bent', bent''; destruct (Nat.eqb i 0).
  - replace (2 * s) with (2 * s * 1) by ring. apply (square_derivative id). apply derivable_pt_lim_id.
  - apply derivable_pt_lim_id.
  - apply alpha.linear.
  - apply derivable_pt_lim_const.
Qed.
Lemma bent_below : forall s, 0 <= s <= 1 -> below Z (bent' s) 2 /\ below Z (bent'' s) 2.
Proof.
  intros s H. split; intros x k _ _; unfold bent', bent''; destruct (Nat.eqb _ 0);
    apply Rabs_le; lra.
Qed.
Lemma bent_residuals : forall s, 0 <= s <= 1 -> exists M, 0 <= M /\ residuals_below Z (bent s) M.
Proof.
  intros s _. exists (Rabs (psi Z (bent s) 0)). split; [apply Rabs_pos |].
  intros j Hj. simpl in Hj. assert (j = 0%nat) by lia. subst. lra.
Qed.
(* Q is the same number s at all pairs *)
Lemma level_residual : forall s, 0 <= s <= 1 -> residuals_below Z (shifted nought s) 3.
Proof.
  intros s Hs j Hj. unfold psi, ahead, Z. cbn [evaluated acts row_reward row_moves discount row_state row_action sum].
  rewrite !value_shift, !value_nought by lia.
  pose proof (ln_below 2 ltac:(lra)) as U. pose proof (ln_increasing 1 2 ltac:(lra) ltac:(lra)) as B.
  rewrite ln_1 in B. unfold shifted, nought. apply Rabs_le. lra.
Qed.
Example lemma_29_of_z : Rabs (risk_of Z (shifted nought 1) - risk_of Z (shifted nought 0)) <=
  (2 + 2 * 3 * (1 + 19 / 20)) * 1.
Proof.
  apply (lemma_29_holds Z (shifted nought) (fun _ => constant 1) 1 3 z_valid z_weights); [| lra | lra |].
  - intros s i. apply one_more.
  - intros s Hs. split; [| apply level_residual; auto]. intros x k _ _. unfold constant.
    rewrite Rabs_R1. lra.
Qed.
Example lemma_30_value_of_bent := lemma_30_value_holds 2%nat bent bent' bent'' 1 0%nat ltac:(lia)
  bent_line.
Example lemma_30_nll_of_z := lemma_30_nll_holds Z bent bent' bent'' 2 2 1 z_valid z_weights bent_line
  (proj1 (bent_below 1 ltac:(lra))) (proj2 (bent_below 1 ltac:(lra))).
Example lemma_30_theta_of_z : exists M d, twice (fun s => risk_of Z (bent s)) 1 d /\
  Rabs d <= 8 + 2 * (1 + 19 / 20) ^ 2 * 4 + 2 * M * ((1 + 19 / 20) * 2 + 19 / 20 * 4).
Proof.
  destruct (bent_residuals 1 ltac:(lra)) as [M [M0 HM]]. exists M.
  destruct (lemma_30_theta_holds Z bent bent' bent'' 2 2 M 1 z_valid z_weights bent_line
    (proj1 (bent_below 1 ltac:(lra))) (proj2 (bent_below 1 ltac:(lra))) M0 HM) as [d [T H]].
  exists d. split; [exact T |]. simpl in H. lra.
Qed.
Example lemma_30_zeta_of_two := lemma_30_zeta_holds 2%nat (fun _ => 1 / 2) INR (fun _ => 1) (fun _ => 3)
  (19 / 20) ltac:(intros; lra).

(* --- H: one state, one action, beta = 1/2, and a reward of 0: f = q^2/4 - (zeta - q)^2/4. Gradients
   have an error of 1 or -1. *)
Definition H : data := {| states := 1; actions := 1; all_states := 1; count := fun _ _ _ => 1;
  anchor := fun _ => 0%nat; reward := fun _ => 0; beta := 1 / 2 |}.
Lemma h_counts : counts H.
Proof. unfold counts, H; simpl. repeat split; intros; try lra; lia. Qed.
Lemma h_s : condition_S H.
Proof. unfold condition_S, taken, H; simpl. intros. split; intros; [lra | lia]. Qed.
Lemma h_f : condition_F H.
Proof. unfold condition_F, taken, H; simpl. intros. lra. Qed.
Lemma h_choice : forall q x, choice 1 q x 0 = 1.
Proof.
  intros. unfold choice, total. simpl. rewrite Rplus_0_l. field.
  pose proof (exp_pos (q (pair 1 x 0))). lra.
Qed.
Lemma h_frequency : forall x, frequency H x 0 = 1.
Proof. intros. unfold frequency, visits, taken, H; simpl. field. Qed.
Lemma h_b : b H 0 = 1.
Proof. unfold b, observations, visits, taken, H; simpl. field. Qed.
Lemma h_w : w H 0 = 1.
Proof. unfold w, observations, visits, taken, H; simpl. field. Qed.
Lemma h_moves : P H 0 0 = 1.
Proof. unfold P, taken, H; simpl. field. Qed.
Lemma h_ahead : forall q, PV H q 0%nat = q 0%nat.
Proof.
  intros. unfold PV, ahead, value, total. simpl. rewrite h_moves, !Rplus_0_l, ln_exp.
  unfold pair. simpl. ring.
Qed.
Lemma h_residual : forall q, residual H q 0 = - (1 / 2) * q 0%nat.
Proof. intros. unfold residual. rewrite h_ahead. unfold pair. simpl. field. Qed.
Lemma h_nll : forall q, risk.nll H q = 0.
Proof. intros. unfold risk.nll. simpl. rewrite h_choice, ln_1. ring. Qed.
Lemma h_entropy : entropy H = 0.
Proof. unfold entropy. simpl. rewrite h_frequency, ln_1. ring. Qed.
Lemma h_g : forall q, g H q = q 0%nat ^ 2 / 4.
Proof.
  intros. rewrite (g_is H h_counts h_s), h_nll. simpl. rewrite h_b, h_residual. field.
Qed.
Lemma h_kl : forall q, kl H q 0 = 0.
Proof. intros. unfold kl. simpl. rewrite h_frequency, h_choice. ring. Qed.
Lemma h_solution : has_coordinates H nought (fun x k => ln (frequency H x k)) (fun _ => 0).
Proof.
  intros x Hx. simpl in Hx. replace x with 0%nat by lia. split.
  - rewrite h_residual. unfold nought. ring.
  - intros k Hk. simpl in Hk. replace k with 0%nat by lia. simpl. rewrite h_choice, h_frequency. auto.
Qed.

Definition f_of_h (t p : vector) := f H (own 1 t) (own 1 p).
Definition A_of_h (t p : vector) : vector := fun _ => p 0%nat / 2.
Definition B_of_h (t p : vector) : vector := fun _ => (t 0%nat - p 0%nat) / 2.
Definition all_of_h (t : vector) := True.
Definition same_of_h (t : vector) := t.
Definition error_of_h (i : nat) : R := if Nat.eqb i 0 then 1 else - (1).
Definition draw_of (G : vector -> vector -> vector) (i : nat) (t p : vector) : vector :=
  fun e => G t p e + error_of_h i.
Lemma f_of_h_is : forall t p, f_of_h t p = t 0%nat ^ 2 / 4 - (p 0%nat - t 0%nat) ^ 2 / 4.
Proof.
  intros. unfold f_of_h. rewrite (f_is H h_counts h_s), h_nll. simpl.
  rewrite h_b, h_residual, h_ahead. unfold own. simpl. field.
Qed.
Lemma squares_of_a_line : forall a u b v s, derivable_pt_lim
  (fun s => (a + s * u) ^ 2 / 4 - (b + s * v) ^ 2 / 4) s ((a + s * u) * u / 2 - (b + s * v) * v / 2).
Proof.
  intros. assert (Li : forall a u s, derivable_pt_lim (fun s => a + s * u) s u).
  { intros. pose proof (line (fun _ => a0) (fun _ => u0) s0 0%nat) as K. exact K. }
  assert (E : (fun s => (a + s * u) ^ 2 / 4 - (b + s * v) ^ 2 / 4) =
    (fun s => 1 / 4 * (a + s * u) ^ 2 - 1 / 4 * (b + s * v) ^ 2)).
  { apply functional_extensionality. intros. field. }
  rewrite E. replace ((a + s * u) * u / 2 - (b + s * v) * v / 2) with
    (1 / 4 * (2 * (a + s * u) * u) - 1 / 4 * (2 * (b + s * v) * v)) by field.
  apply derivable_pt_lim_minus; apply scaled_derivative.
  - apply (square_derivative (fun s => a + s * u)). apply Li.
  - apply (square_derivative (fun s => b + s * v)). apply Li.
Qed.
Lemma gradients_of_h : gradients 1 1 f_of_h A_of_h B_of_h.
Proof.
  split.
  - intros p t d s.
    assert (E : (fun s => f_of_h (along t d s) p) = (fun s => (t 0%nat + s * d 0%nat) ^ 2 / 4 -
      ((p 0%nat - t 0%nat) + s * - d 0%nat) ^ 2 / 4)).
    { apply functional_extensionality. intros. rewrite f_of_h_is. unfold along. field. }
    rewrite E. unfold A_of_h, along, constant_one. simpl.
    replace (0 + 1 * (p 0%nat / 2) * d 0%nat) with ((t 0%nat + s * d 0%nat) * d 0%nat / 2 -
      (p 0%nat - t 0%nat + s * - d 0%nat) * - d 0%nat / 2) by field.
    apply squares_of_a_line.
  - intros t p d s.
    assert (E : f_of_h t = (fun p => t 0%nat ^ 2 / 4 - (p 0%nat - t 0%nat) ^ 2 / 4)).
    { apply functional_extensionality. intros. apply f_of_h_is. }
    assert (E2 : (fun s => f_of_h t (along p d s)) = (fun s => (t 0%nat + s * 0) ^ 2 / 4 -
      ((p 0%nat - t 0%nat) + s * d 0%nat) ^ 2 / 4)).
    { apply functional_extensionality. intros. rewrite f_of_h_is. unfold along. field. }
    rewrite E2. unfold B_of_h, along, constant_one. simpl.
    replace (0 + 1 * ((t 0%nat - (p 0%nat + s * d 0%nat)) / 2) * d 0%nat) with
      ((t 0%nat + s * 0) * 0 / 2 - (p 0%nat - t 0%nat + s * d 0%nat) * d 0%nat / 2) by field.
    apply squares_of_a_line.
Qed.
Lemma smooth_of_h : l_smooth 1 1 A_of_h B_of_h all_of_h all_of_h 1.
Proof.
  intros t t' p p' _ _ _ _. unfold square_of_norm, A_of_h, B_of_h, less, constant_one. simpl.
  set (x := t' 0%nat - t 0%nat). set (y := p' 0%nat - p 0%nat).
  replace ((t' 0%nat - p' 0%nat) / 2 - (t 0%nat - p 0%nat) / 2) with ((x - y) / 2)
    by (unfold x, y; field).
  replace (p' 0%nat / 2 - p 0%nat / 2) with (y / 2) by (unfold y; field).
  pose proof (pow2_ge_0 (x + y)). pose proof (pow2_ge_0 x). pose proof (pow2_ge_0 y). nra.
Qed.
Lemma pl_in_phi_of_h : pl_in_phi 1 f_of_h B_of_h (fun t => g H (own 1 t)) all_of_h all_of_h (1 / 2).
Proof.
  intros t p _ _. rewrite h_g, f_of_h_is. unfold square_of_norm, B_of_h, own, constant_one. simpl. nra.
Qed.
Lemma attained_of_h :
  attained 1 f_of_h B_of_h (fun t => g H (own 1 t)) same_of_h all_of_h all_of_h.
Proof.
  intros t _. split; [exact I |]. split; [| split].
  - rewrite h_g, f_of_h_is. unfold own, same_of_h. simpl. field.
  - unfold square_of_norm, B_of_h, same_of_h. simpl. field.
  - intros p _. rewrite h_g, f_of_h_is. unfold own. simpl.
    pose proof (pow2_ge_0 (p 0%nat - t 0%nat)). lra.
Qed.
Lemma pl_of_h : pl_of_g 1 A_of_h (fun t => g H (own 1 t)) same_of_h all_of_h (1 / 2) 0.
Proof.
  intros t _. rewrite h_g. unfold slope_of_g, square_of_norm, A_of_h, same_of_h, own, constant_one.
  simpl. pose proof (pow2_ge_0 (t 0%nat)). split; nra.
Qed.
Lemma enlarged_of_h : forall mu_2, enlarged 1 1 f_of_h (fun t => g H (own 1 t)) all_of_h all_of_h
  all_of_h all_of_h mu_2 1.
Proof. intros. repeat split; lra. Qed.
Lemma convex_of_h : convex all_of_h.
Proof. repeat intro. exact I. Qed.
Lemma unbiased_of_h : forall G, unbiased 2 1 (fun _ => 1 / 2) (draw_of G) G all_of_h all_of_h 1.
Proof.
  intros G. split; [intros; lra |]. split; [simpl; lra |]. intros t p _ _.
  unfold square_of_norm, draw_of, error_of_h, less, constant_one. simpl. split; [intros; field |].
  right. field.
Qed.
Lemma stay_of_h : forall ratio tau start, iterates_stay 2 2 (draw_of A_of_h) (draw_of B_of_h) ratio tau
  start start all_of_h all_of_h.
Proof. repeat intro. split; exact I. Qed.
Lemma ratio_of_h : 18 * 1 ^ 2 / (1 / 2) ^ 2 = 72.
Proof. field. Qed.
Lemma L_of_h : 1 + 1 ^ 2 / (1 / 2) = 3.
Proof. field. Qed.

Example slope_of_profile_of_h := slope_of_profile_holds 1%nat 1%nat f_of_h A_of_h B_of_h
  (fun t => g H (own 1 t)) same_of_h all_of_h all_of_h all_of_h all_of_h (1 / 2) 1 1 gradients_of_h
  smooth_of_h pl_in_phi_of_h attained_of_h (enlarged_of_h (1 / 2)) ltac:(lra) ltac:(lra).
Example growth_in_phi_of_h := growth_in_phi_holds 1%nat 1%nat f_of_h A_of_h B_of_h
  (fun t => g H (own 1 t)) same_of_h all_of_h all_of_h all_of_h all_of_h (1 / 2) 1 1 gradients_of_h
  smooth_of_h pl_in_phi_of_h attained_of_h (enlarged_of_h (1 / 2)) convex_of_h convex_of_h ltac:(lra)
  (fun t H => H).
Definition expected_of_h (start : vector) := expected 2 2 (fun _ => 1 / 2) (fun _ => 1 / 2)
  (draw_of A_of_h) (draw_of B_of_h) 72 (fun t => 5 / (360 + INR t)) start start.
Example theorem_12_of_h : forall start, exists nu, forall t,
  expected_of_h start t (fun t p => g H (own 1 t) - 0 + (g H (own 1 t) - f_of_h t p) / 10) <=
  nu / (360 + INR t).
Proof.
  intros start. eexists. intros t. unfold expected_of_h. rewrite <- ratio_of_h.
  apply (theorem_12_of_the_paper_holds 1%nat 1%nat f_of_h A_of_h B_of_h (fun t => g H (own 1 t)) same_of_h
    all_of_h all_of_h all_of_h all_of_h (1 / 2) (1 / 2) 1 1 0 2%nat 2%nat (fun _ => 1 / 2) (fun _ => 1 / 2)
    (draw_of A_of_h) (draw_of B_of_h) 1 5 360 start start gradients_of_h smooth_of_h pl_in_phi_of_h
    attained_of_h pl_of_h (enlarged_of_h (1 / 2)) convex_of_h convex_of_h (unbiased_of_h A_of_h)
    (unbiased_of_h B_of_h)); try rewrite L_of_h; try rewrite ratio_of_h; try apply stay_of_h; simpl; lra.
Qed.

Lemma constant_of_h : constant_on H (own 1) all_of_h (1 / 2).
Proof.
  intros t _. exists (fun _ _ => 1), (g H (own 1 t) - entropy H). split; [| split; [| lra]].
  - intros x delta Hx Hd. simpl in Hx. replace x with 0%nat by lia. split; [lra |]. intros q _.
    rewrite h_kl. simpl. pose proof (pow2_ge_0 (choice 1 q 0 0 - frequency H 0 0)). lra.
  - intros s Hs Hs1 slack Hsl. exists nought. split; [intros; unfold nought; lra |].
    intros q _ u eps Hu. specialize (Hu 0%nat ltac:(simpl; lia)). simpl in Hu.
    unfold size, weighed, pull, nought, constant_one. simpl. rewrite h_b, h_moves, h_choice.
    assert (U0 : u 0%nat 0%nat = 0) by lra. rewrite U0. unfold one. simpl.
    pose proof (pow2_ge_0 (eps 0%nat)). unfold Rdiv. rewrite !Rmult_0_l, !Rplus_0_l, !Rmult_0_r.
    assert (0 <= slack * eps 0%nat ^ 2) by (apply Rmult_le_pos; lra). nra.
Qed.
Lemma outputs_of_h : outputs_of H 1 1 (own 1) (own 1) (fun _ => one) (fun _ => one) same_of_h all_of_h
  all_of_h all_of_h 1 1.
Proof.
  split; [apply own_jacobian |]. split; [apply own_jacobian |].
  split; [intros; apply own_conditioned |]. split; [intros; apply own_conditioned |].
  intros t _. split; [exact I |]. intros x Hx. simpl in Hx. replace x with 0%nat by lia.
  rewrite h_ahead. reflexivity.
Qed.
Example theorem_13_of_h : forall start, exists C, forall s,
  expected_of_h start s (fun t _ => distance_to H nought (own 1 t)) <= C * / (360 + INR s).
Proof.
  intros start. destruct (Req_dec 0 0) as [_ | N]; [| lra].
  assert (M2 : 2 * (1 / 2) ^ 2 * 1 * 1 = 1 / 2) by field.
  set (nu := Rmax (360 * (g H (own 1 start) - entropy H +
    (g H (own 1 start) - f H (own 1 start) (own 1 start)) / 10))
    (5 ^ 2 * 1 ^ 2 * (11 * (1 + 1 ^ 2 / (1 / 2)) + 1 + 324 * 1 ^ 5 / (1 / 2) ^ 4) /
      (10 * (1 * (1 / 2)) * 5 - 20))).
  exists (((1 + 2 / sqrt 1) ^ 2 / ((exp (- (1)) - 1 + 1) / 1 ^ 2) + 2 ^ 2 / 1) * nu). intros s.
  unfold expected_of_h. rewrite <- ratio_of_h.
  pose proof (theorem_13_of_the_paper_holds H H nought 1%nat 1%nat (own 1) (own 1) (fun _ => one) (fun _ => one)
    A_of_h B_of_h same_of_h all_of_h all_of_h all_of_h all_of_h 1 1 (1 / 2) 1 1 1 2%nat 2%nat (fun _ => 1 / 2)
    (fun _ => 1 / 2) (draw_of A_of_h) (draw_of B_of_h) 1 5 360 start start 2 1 1 (fun _ => 0)) as T.
  cbv zeta in T. change (beta H) with (1 / 2) in T. rewrite M2 in T. fold nu in T.
  eapply Rle_trans; [apply T |]; try rewrite L_of_h; try rewrite ratio_of_h.
  - apply h_counts.
  - apply h_s.
  - apply constant_of_h.
  - intros x Hx. simpl in Hx. replace x with 0%nat by lia. rewrite h_b. lra.
  - lra.
  - lra.
  - apply outputs_of_h.
  - lra.
  - lra.
  - lra.
  - apply gradients_of_h.
  - apply smooth_of_h.
  - apply enlarged_of_h.
  - apply convex_of_h.
  - apply convex_of_h.
  - apply unbiased_of_h.
  - apply unbiased_of_h.
  - apply stay_of_h.
  - lra.
  - lra.
  - lra.
  - lra.
  - simpl. lra.
  - simpl. lra.
  - simpl. lra.
  - apply h_counts.
  - apply h_s.
  - apply h_f.
  - apply h_solution.
  - lra.
  - intros h. simpl. rewrite h_w, h_moves. pose proof (pow2_ge_0 (h 0%nat)). lra.
  - lra.
  - lra.
  - intros x Hx. simpl in Hx. replace x with 0%nat by lia. simpl. rewrite h_frequency. lra.
  - intros t _ x a Hx Ha. simpl in Hx, Ha. replace x with 0%nat by lia. replace a with 0%nat by lia.
    simpl. rewrite !h_choice, Rminus_diag_eq, Rabs_R0 by auto. lra.
  - intros r. right. rewrite Rplus_0_r. f_equal. apply functional_extensionality. intros t.
    apply functional_extensionality. intros p. rewrite h_entropy, !h_g. unfold nought. field.
  - right. unfold Rdiv. ring.
Qed.
