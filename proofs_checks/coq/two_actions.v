(* The last sentence of Theorem 3 of corrected.md: for two actions the factor alpha is the least of
   lambda_0 = 2 pi (1 - pi) and the ratio at the two ends, where KL = delta. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales softmax risk gradient pl smoothness alpha.
Open Scope R_scope.

(* --- statement *)
Definition ratio_at (D : data) (x : nat) (q : vector) :=
  sum (actions D) (fun k => (choice (actions D) q x k - frequency D x k) ^ 2) / (2 * kl D q x).

(* low and high are the two ends. No table with KL <= delta has a lesser ratio. *)
Definition theorem_3_two_actions := forall D x delta low high, counts D -> condition_S D ->
  seen D x -> actions D = 2%nat -> 0 < delta ->
  kl D low x = delta -> kl D high x = delta ->
  choice 2 low x 0 < frequency D x 0 < choice 2 high x 0 ->
  let alpha := Rmin (2 * frequency D x 0 * (1 - frequency D x 0))
    (Rmin (ratio_at D x low) (ratio_at D x high)) in
  forall q, kl D q x <= delta -> 2 * alpha * kl D q x <=
    sum 2 (fun k => (choice 2 q x k - frequency D x k) ^ 2).

(* The ends are such tables themselves, and near the frequencies the ratio
   comes as close to lambda_0 as one likes: so that is the infimum. *)
Definition theorem_3_two_actions_sharp := forall D x high, counts D -> condition_S D -> seen D x ->
  actions D = 2%nat -> frequency D x 0 < choice 2 high x 0 ->
  forall eps, 0 < eps -> exists q, 0 < kl D q x <= kl D high x /\
    ratio_at D x q <= 2 * frequency D x 0 * (1 - frequency D x 0) + eps.

(* --- KL of two actions, in one variable p *)
Definition binary (pi p : R) := pi * (ln pi - ln p) + (1 - pi) * (ln (1 - pi) - ln (1 - p)).

Lemma rises : forall F F' a c, (forall t, a <= t <= c -> derivable_pt_lim F t (F' t)) ->
  (forall t, a <= t <= c -> 0 <= F' t) -> a <= c -> F a <= F c.
Proof.
  intros F F' a c H P Hc. destruct (Req_dec a c) as [E | E]; [rewrite E; lra |].
  destruct (MVT_cor2 F F' a c ltac:(lra)) as [x [Ex Hx]]; [intros; apply H; lra |].
  pose proof (P x ltac:(lra)). nra.
Qed.

Lemma ln_other : forall p, p < 1 -> derivable_pt_lim (fun p => ln (1 - p)) p (/ (1 - p) * - 1).
Proof.
  intros p Hp. apply (derivable_pt_lim_comp (fun p => 1 - p) ln); [| apply derivable_pt_lim_ln; lra].
  replace (-1) with (0 - 1) by ring.
  apply (derivable_pt_lim_minus (fun _ => 1) id); [apply derivable_pt_lim_const |].
  apply derivable_pt_lim_id.
Qed.

Lemma shifted_square : forall pi p, derivable_pt_lim (fun p => (p - pi) ^ 2) p (2 * (p - pi)).
Proof.
  intros pi p. replace (2 * (p - pi)) with (2 * (p - pi) * (1 - 0)) by ring.
  apply (square_derivative (fun p => p - pi)).
  apply (derivable_pt_lim_minus id (fun _ => pi)); [apply derivable_pt_lim_id |].
  apply derivable_pt_lim_const.
Qed.

Section Binary.
Variable pi : R.
Hypothesis Hpi : 0 < pi < 1.
Local Notation KL := (binary pi).

Lemma binary_slope : forall p, 0 < p < 1 -> derivable_pt_lim KL p ((p - pi) / (p * (1 - p))).
Proof.
  intros p Hp. unfold binary.
  replace ((p - pi) / (p * (1 - p))) with (pi * (0 - / p) + (1 - pi) * (0 - / (1 - p) * -1))
    by (field; lra).
  apply derivable_pt_lim_plus; apply scaled_derivative.
  - apply (derivable_pt_lim_minus (fun _ => ln pi) ln); [apply derivable_pt_lim_const |].
    apply derivable_pt_lim_ln. lra.
  - apply (derivable_pt_lim_minus (fun _ => ln (1 - pi)) (fun p => ln (1 - p)));
      [apply derivable_pt_lim_const | apply ln_other; lra].
Qed.

Lemma binary_at_pi : KL pi = 0.
Proof. unfold binary. ring. Qed.

Lemma inverse_pos : forall p, 0 < p < 1 -> 0 < / (p * (1 - p)).
Proof. intros p Hp. apply Rinv_0_lt_compat. apply Rmult_lt_0_compat; lra. Qed.

Lemma binary_mono : forall p s, pi <= p -> p <= s -> s < 1 -> KL p <= KL s.
Proof.
  intros p s H1 H2 H3. apply (rises KL (fun p => (p - pi) / (p * (1 - p)))); [| | auto].
  - intros t Ht. apply binary_slope. lra.
  - intros t Ht. unfold Rdiv. pose proof (inverse_pos t ltac:(lra)). apply Rmult_le_pos; lra.
Qed.

Lemma binary_strict : forall p s, pi <= p -> p < s -> s < 1 -> KL p < KL s.
Proof.
  intros p s H1 H2 H3.
  destruct (MVT_cor2 KL (fun p => (p - pi) / (p * (1 - p))) p s H2) as [z [E Hz]].
  { intros c Hc. apply binary_slope. lra. }
  pose proof (inverse_pos z ltac:(lra)).
  assert (0 < (z - pi) / (z * (1 - z))) by (unfold Rdiv; apply Rmult_lt_0_compat; lra). nra.
Qed.

(* chi has the sign of the slope of the ratio *)
Definition chi (p : R) := 2 * KL p + -1 * ((p - pi) ^ 2 / (p * (1 - p))).

Lemma chi_slope : forall p, 0 < p < 1 ->
  derivable_pt_lim chi p ((p - pi) ^ 2 * (1 - 2 * p) / (p * (1 - p)) ^ 2).
Proof.
  intros p Hp. unfold chi.
  replace ((p - pi) ^ 2 * (1 - 2 * p) / (p * (1 - p)) ^ 2) with
    (2 * ((p - pi) / (p * (1 - p))) + -1 * ((2 * (p - pi) * (p * (1 - p)) -
      (1 * (1 - p) + p * (0 - 1)) * (p - pi) ^ 2) / Rsqr (p * (1 - p)))) by (unfold Rsqr; field; lra).
  apply derivable_pt_lim_plus; apply scaled_derivative; [apply binary_slope; auto |].
  apply (derivable_pt_lim_div (fun p => (p - pi) ^ 2) (fun p => p * (1 - p))).
  - apply shifted_square.
  - apply (derivable_pt_lim_mult id (fun p => 1 - p)); [apply derivable_pt_lim_id |].
    apply (derivable_pt_lim_minus (fun _ => 1) id); [apply derivable_pt_lim_const |].
    apply derivable_pt_lim_id.
  - apply Rgt_not_eq. apply Rmult_lt_0_compat; lra.
Qed.

Lemma chi_rises : forall s, pi <= s -> s <= 1 / 2 -> 0 <= chi s.
Proof.
  intros s H1 H2. assert (Z : chi pi = 0).
  { unfold chi. rewrite binary_at_pi. unfold Rdiv. ring. }
  rewrite <- Z. apply (rises chi (fun p => (p - pi) ^ 2 * (1 - 2 * p) / (p * (1 - p)) ^ 2)); [| | auto].
  - intros t Ht. apply chi_slope. lra.
  - intros t Ht. unfold Rdiv. apply Rmult_le_pos.
    + apply Rmult_le_pos; [apply pow2_ge_0 | lra].
    + left. apply Rinv_0_lt_compat. apply pow_lt. apply Rmult_lt_0_compat; lra.
Qed.

Lemma chi_falls : forall s p, 1 / 2 <= s -> s <= p -> 0 < s -> p < 1 -> chi p <= chi s.
Proof.
  intros s p H1 H2 H0 H3.
  pose proof (rises (fun t => -1 * chi t)
    (fun p => -1 * ((p - pi) ^ 2 * (1 - 2 * p) / (p * (1 - p)) ^ 2)) s p) as R.
  assert (-1 * chi s <= -1 * chi p); [| lra]. apply R; auto.
  - intros t Ht. apply scaled_derivative. apply chi_slope. lra.
  - intros t Ht.
    replace (-1 * ((t - pi) ^ 2 * (1 - 2 * t) / (t * (1 - t)) ^ 2)) with
      ((t - pi) ^ 2 * (2 * t - 1) * / (t * (1 - t)) ^ 2) by (unfold Rdiv; ring).
    apply Rmult_le_pos.
    + apply Rmult_le_pos; [apply pow2_ge_0 | lra].
    + left. apply Rinv_0_lt_compat. apply pow_lt. apply Rmult_lt_0_compat; lra.
Qed.

Definition ratio (p : R) := (p - pi) ^ 2 / KL p.

Lemma ratio_slope : forall p, pi < p < 1 ->
  derivable_pt_lim ratio p ((p - pi) * chi p / Rsqr (KL p)).
Proof.
  intros p Hp. assert (K0 : 0 < KL p) by (rewrite <- binary_at_pi; apply binary_strict; lra).
  unfold ratio, chi.
  replace ((p - pi) * (2 * KL p + -1 * ((p - pi) ^ 2 / (p * (1 - p)))) / Rsqr (KL p)) with
    ((2 * (p - pi) * KL p - (p - pi) / (p * (1 - p)) * (p - pi) ^ 2) / Rsqr (KL p))
    by (unfold Rsqr; field; lra).
  apply (derivable_pt_lim_div (fun p => (p - pi) ^ 2) KL);
    [apply shifted_square | apply binary_slope; lra | lra].
Qed.

Lemma ratio_up : forall s p, pi < s -> s <= p -> p < 1 ->
  (forall t, s <= t <= p -> 0 <= chi t) -> ratio s <= ratio p.
Proof.
  intros s p H1 H2 H3 H. apply (rises ratio (fun p => (p - pi) * chi p / Rsqr (KL p))); [| | auto].
  - intros t Ht. apply ratio_slope. lra.
  - intros t Ht. assert (K0 : 0 < KL t) by (rewrite <- binary_at_pi; apply binary_strict; lra).
    unfold Rdiv. apply Rmult_le_pos; [apply Rmult_le_pos; [lra | apply H; lra] |].
    left. apply Rinv_0_lt_compat. apply Rsqr_pos_lt. lra.
Qed.

Lemma ratio_down : forall s p, pi < s -> s <= p -> p < 1 ->
  (forall t, s <= t <= p -> chi t <= 0) -> ratio p <= ratio s.
Proof.
  intros s p H1 H2 H3 H.
  pose proof (rises (fun t => -1 * ratio t) (fun p => -1 * ((p - pi) * chi p / Rsqr (KL p))) s p) as R.
  assert (-1 * ratio s <= -1 * ratio p); [| lra]. apply R; auto.
  - intros t Ht. apply scaled_derivative. apply ratio_slope. lra.
  - intros t Ht. assert (K0 : 0 < KL t) by (rewrite <- binary_at_pi; apply binary_strict; lra).
    replace (-1 * ((t - pi) * chi t / Rsqr (KL t))) with ((t - pi) * (- chi t) * / Rsqr (KL t))
      by (unfold Rdiv; ring).
    apply Rmult_le_pos; [apply Rmult_le_pos; [lra | pose proof (H t Ht); lra] |].
    left. apply Rinv_0_lt_compat. apply Rsqr_pos_lt. lra.
Qed.

(* as long as the variance is at least that at pi, the ratio is at least lambda_0 *)
Lemma ratio_of_variance : forall p, pi < p -> p <= 1 - pi -> 2 * pi * (1 - pi) <= ratio p.
Proof.
  intros p H1 H2. assert (K0 : 0 < KL p) by (rewrite <- binary_at_pi; apply binary_strict; lra).
  pose proof (rises (fun p => (p - pi) ^ 2 + - (2 * pi * (1 - pi)) * KL p)
    (fun p => 2 * (p - pi) + - (2 * pi * (1 - pi)) * ((p - pi) / (p * (1 - p)))) pi p) as R.
  assert (I : (pi - pi) ^ 2 + - (2 * pi * (1 - pi)) * KL pi <=
    (p - pi) ^ 2 + - (2 * pi * (1 - pi)) * KL p).
  { apply R; [| | lra].
    - intros t Ht. apply derivable_pt_lim_plus; [apply shifted_square |].
      apply scaled_derivative. apply binary_slope. lra.
    - intros t Ht. pose proof (inverse_pos t ltac:(lra)) as Iv.
      replace (2 * (t - pi) + - (2 * pi * (1 - pi)) * ((t - pi) / (t * (1 - t)))) with
        (2 * (t - pi) * ((t - pi) * (1 - pi - t)) * / (t * (1 - t))) by (field; lra).
      apply Rmult_le_pos; [| lra].
      apply Rmult_le_pos; [lra |]. apply Rmult_le_pos; lra. }
  rewrite binary_at_pi in I. replace ((pi - pi) ^ 2) with 0 in I by ring.
  unfold ratio. apply Rmult_le_reg_r with (KL p); [auto |].
  replace ((p - pi) ^ 2 / KL p * KL p) with ((p - pi) ^ 2) by (field; lra). lra.
Qed.

(* near pi the ratio is close to lambda_0 *)
Lemma ratio_near : forall p eps, pi < p < 1 -> 0 < eps -> p - pi <= eps / 2 ->
  ratio p <= 2 * pi * (1 - pi) + eps.
Proof.
  intros p eps Hp He Hn. assert (K0 : 0 < KL p) by (rewrite <- binary_at_pi; apply binary_strict; lra).
  set (c := 2 * pi * (1 - pi) + eps).
  pose proof (rises (fun p => -1 * (p - pi) ^ 2 + c * KL p)
    (fun p => -1 * (2 * (p - pi)) + c * ((p - pi) / (p * (1 - p)))) pi p) as R.
  assert (I : -1 * (pi - pi) ^ 2 + c * KL pi <= -1 * (p - pi) ^ 2 + c * KL p).
  { apply R; [| | lra].
    - intros t Ht. apply derivable_pt_lim_plus; apply scaled_derivative;
        [apply shifted_square | apply binary_slope; lra].
    - intros t Ht. pose proof (inverse_pos t ltac:(lra)) as Iv.
      replace (-1 * (2 * (t - pi)) + c * ((t - pi) / (t * (1 - t)))) with
        ((t - pi) * (c - 2 * (t * (1 - t))) * / (t * (1 - t))) by (field; lra).
      apply Rmult_le_pos; [| lra]. apply Rmult_le_pos; [lra |].
      assert (t * (1 - t) - pi * (1 - pi) <= t - pi) by nra. unfold c. lra. }
  rewrite binary_at_pi in I. replace ((pi - pi) ^ 2) with 0 in I by ring.
  unfold ratio. apply Rmult_le_reg_r with (KL p); [auto |].
  replace ((p - pi) ^ 2 / KL p * KL p) with ((p - pi) ^ 2) by (field; lra). lra.
Qed.

Lemma one_side : forall p e, pi < p -> p <= e -> e < 1 ->
  Rmin (2 * pi * (1 - pi)) (ratio e) <= ratio p.
Proof.
  intros p e H1 H2 H3.
  destruct (Rle_lt_dec (2 * pi * (1 - pi)) (ratio p)) as [L | L];
    [eapply Rle_trans; [apply Rmin_l | auto] |].
  eapply Rle_trans; [apply Rmin_r |].
  destruct (Rle_lt_dec p (1 - pi)) as [A | A];
    [pose proof (ratio_of_variance p H1 A); lra |].
  assert (Half : 1 / 2 <= p) by lra.
  destruct (Rle_lt_dec (chi p) 0) as [N | N].
  - apply ratio_down; [auto | auto | auto |]. intros t Ht.
    pose proof (chi_falls p t Half ltac:(lra) ltac:(lra) ltac:(lra)). lra.
  - exfalso.
    assert (Up : forall t, pi <= t <= p -> 0 <= chi t).
    { intros t Ht. destruct (Rle_lt_dec t (1 / 2)) as [B | B]; [apply chi_rises; lra |].
      pose proof (chi_falls t p ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)). lra. }
    destruct (Rlt_le_dec pi (1 / 2)) as [B | B].
    + pose proof (ratio_of_variance (1 - pi) ltac:(lra) ltac:(lra)).
      pose proof (ratio_up (1 - pi) p ltac:(lra) ltac:(lra) ltac:(lra)
        (fun t Ht => Up t ltac:(lra))). lra.
    + pose proof (chi_falls pi p ltac:(lra) ltac:(lra) ltac:(lra) ltac:(lra)) as Q.
      assert (Z : chi pi = 0) by (unfold chi; rewrite binary_at_pi; unfold Rdiv; ring). lra.
Qed.
End Binary.

(* --- the theorem *)
Lemma binary_swap : forall pi p, binary (1 - pi) (1 - p) = binary pi p.
Proof.
  intros. unfold binary. replace (1 - (1 - pi)) with pi by ring.
  replace (1 - (1 - p)) with p by ring. ring.
Qed.

Lemma ratio_swap : forall pi p, ratio (1 - pi) (1 - p) = ratio pi p.
Proof.
  intros. unfold ratio. rewrite binary_swap. f_equal. ring.
Qed.

Lemma choice_inside : forall x q, choice 2 q x 1 = 1 - choice 2 q x 0 /\ 0 < choice 2 q x 0 < 1.
Proof.
  intros x q. assert (Two : (0 < 2)%nat) by lia. pose proof (choice_sum 2 q x Two) as Q. simpl in Q.
  pose proof (choice_pos 2 q x 0 Two). pose proof (choice_pos 2 q x 1 Two). lra.
Qed.

Section Two.
Variables (D : data) (x : nat).
Hypothesis C : counts D.
Hypothesis S : condition_S D.
Hypothesis Seen : seen D x.
Hypothesis K2 : actions D = 2%nat.
Let pi := frequency D x 0.

Lemma other : frequency D x 1 = 1 - pi.
Proof.
  pose proof (frequency_sum D C S x (proj1 Seen)) as One. rewrite K2 in One. simpl in One.
  unfold pi. lra.
Qed.

Lemma pi_inside : 0 < pi < 1.
Proof.
  destruct Seen as [_ F]. pose proof (F O ltac:(lia)). pose proof (F 1%nat ltac:(lia)) as P1.
  rewrite other in P1. unfold pi in *. lra.
Qed.

Lemma kl_is_binary : forall q, kl D q x = binary pi (choice 2 q x 0).
Proof.
  intros q. unfold kl, binary. rewrite K2. simpl. destruct (choice_inside x q) as [E _].
  rewrite E, other. fold pi. ring.
Qed.

Lemma square_is : forall q, sum 2 (fun k => (choice 2 q x k - frequency D x k) ^ 2) =
  2 * (choice 2 q x 0 - pi) ^ 2.
Proof. intros q. simpl. destruct (choice_inside x q) as [E _]. rewrite E, other. fold pi. ring. Qed.

Lemma ratio_is : forall q, kl D q x <> 0 -> ratio_at D x q = ratio pi (choice 2 q x 0).
Proof.
  intros q Hq. unfold ratio_at. rewrite K2, square_is. rewrite kl_is_binary in Hq |- *.
  unfold ratio. field. exact Hq.
Qed.
End Two.

Theorem theorem_3_two_actions_holds : theorem_3_two_actions.
Proof.
  intros D x delta low high C S Seen K2 Hd El Eh [Hl Hh] alpha q Hq.
  pose proof (pi_inside D x C S Seen K2) as Hpi. pose proof (kl_is_binary D x C S Seen K2) as Kl.
  pose proof (ratio_is D x C S Seen K2) as Ra. pose proof (choice_inside x) as Ch.
  pose proof (square_is D x C S Seen K2 q) as Sq. unfold alpha. rewrite !Ra by lra.
  set (pi := frequency D x 0) in *.
  rewrite Sq. rewrite Kl in *.
  set (p := choice 2 q x 0) in *. set (l := choice 2 low x 0) in *. set (h := choice 2 high x 0) in *.
  destruct (Ch q) as [_ Hp]. destruct (Ch low) as [_ Bl]. destruct (Ch high) as [_ Bh].
  fold p in Hp. fold l in Bl. fold h in Bh.
  set (m := Rmin _ _).
  assert (Fin : m * binary pi p <= (p - pi) ^ 2); [| lra].
  destruct (Rtotal_order p pi) as [G | [G | G]].
  - (* below pi: the other action *)
    assert (Hpi' : 0 < 1 - pi < 1) by lra.
    assert (Pe : 1 - p <= 1 - l).
    { destruct (Rle_lt_dec (1 - p) (1 - l)) as [| Z]; auto. exfalso.
      pose proof (binary_strict (1 - pi) Hpi' (1 - l) (1 - p) ltac:(lra) Z ltac:(lra)) as Q.
      rewrite !binary_swap in Q. lra. }
    pose proof (one_side (1 - pi) Hpi' (1 - p) (1 - l) ltac:(lra) Pe ltac:(lra)) as O.
    rewrite !ratio_swap in O.
    assert (K0 : 0 < binary pi p).
    { rewrite <- binary_swap, <- (binary_at_pi (1 - pi)). apply binary_strict; lra. }
    assert (M : m <= ratio pi p).
    { eapply Rle_trans; [| exact O]. apply Rmin_glb.
      - eapply Rle_trans; [apply Rmin_l |]. right. ring.
      - eapply Rle_trans; [apply Rmin_r | apply Rmin_l]. }
    apply Rmult_le_compat_r with (r := binary pi p) in M; [| lra].
    unfold ratio in M. replace ((p - pi) ^ 2 / binary pi p * binary pi p) with ((p - pi) ^ 2) in M
      by (field; lra). exact M.
  - rewrite G, binary_at_pi. right. ring.
  - assert (Pe : p <= h).
    { destruct (Rle_lt_dec p h) as [| Z]; auto. exfalso.
      pose proof (binary_strict pi Hpi h p ltac:(lra) Z ltac:(lra)). lra. }
    pose proof (one_side pi Hpi p h ltac:(lra) Pe ltac:(lra)) as O.
    assert (K0 : 0 < binary pi p).
    { rewrite <- (binary_at_pi pi). apply binary_strict; lra. }
    assert (M : m <= ratio pi p).
    { eapply Rle_trans; [| exact O]. apply Rmin_glb; [apply Rmin_l |].
      eapply Rle_trans; [apply Rmin_r | apply Rmin_r]. }
    apply Rmult_le_compat_r with (r := binary pi p) in M; [| lra].
    unfold ratio in M. replace ((p - pi) ^ 2 / binary pi p * binary pi p) with ((p - pi) ^ 2) in M
      by (field; lra). exact M.
Qed.

Theorem theorem_3_two_actions_sharp_holds : theorem_3_two_actions_sharp.
Proof.
  intros D x high C S Seen K2 Hh eps He. pose proof (pi_inside D x C S Seen K2) as Hpi.
  destruct (choice_inside x high) as [_ Bh].
  set (pi := frequency D x 0) in *. set (h := choice 2 high x 0) in *.
  set (p := pi + Rmin (eps / 2) (h - pi)).
  assert (M1 : Rmin (eps / 2) (h - pi) <= eps / 2) by apply Rmin_l.
  assert (M2 : Rmin (eps / 2) (h - pi) <= h - pi) by apply Rmin_r.
  assert (M0 : 0 < Rmin (eps / 2) (h - pi)) by (apply Rmin_pos; lra).
  assert (Hp : pi < p < 1) by (unfold p; lra).
  set (q := table 2 (fun _ k => match k with O => ln p | _ => ln (1 - p) end)).
  assert (Cq : choice 2 q x 0 = p).
  { unfold choice, total. simpl. unfold q. rewrite !table_pair by lia. rewrite !exp_ln by lra.
    replace (0 + p + (1 - p)) with 1 by ring. field. }
  assert (Kq : kl D q x = binary pi p) by (rewrite (kl_is_binary D x C S Seen K2), Cq; auto).
  assert (K0 : 0 < binary pi p)
    by (rewrite <- (binary_at_pi pi); apply (binary_strict pi Hpi); lra).
  exists q. split.
  - rewrite Kq, (kl_is_binary D x C S Seen K2 high). fold pi h. split; [auto |].
    apply (binary_mono pi Hpi); unfold p; lra.
  - rewrite (ratio_is D x C S Seen K2) by lra. rewrite Cq. fold pi.
    apply (ratio_near pi Hpi); [auto | auto | unfold p; lra].
Qed.

Print Assumptions theorem_3_two_actions_holds.
Print Assumptions theorem_3_two_actions_sharp_holds.
