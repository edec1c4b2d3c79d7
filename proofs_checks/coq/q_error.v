(* The paper's Theorem 13, for finitely many states: from the conditions on data, outputs and noise to
   the rate of Q. The conditions of Theorem 12 as corrected are shown, not assumed, where Theorem 4 of
   corrected.md and the two Jacobians give them: PL of the profile, and PL in phi. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors contraction two_time_scales softmax risk gradient pl smoothness least alpha.
Require Import identification ball two_schedules.
Open Scope R_scope.

(* --- statements *)
(* |Q - Q*|^2 in L2(d) *)
Definition distance_to (D : data) (Qstar q : vector) := sum (states D) (fun x => w D x *
  sum (actions D) (fun a => frequency D x a *
    (q (pair (actions D) x a) - Qstar (pair (actions D) x a)) ^ 2)).

(* For every theta of T, c is the constant of Theorem 4 at some level that is not below its risk *)
Definition constant_on (D : data) (outputs : vector -> vector) (T : set) (c : R) := forall t, T t ->
  exists alpha Delta, factor D alpha /\ pl_constant D alpha constant_one Delta c /\
  g D (outputs t) - entropy D <= Delta.

(* The outputs are those of Q at all pairs, and of zeta at all states. *)
Definition outputs_of (D : data) (n m : nat) (q zeta : vector -> vector) (J Jz : vector -> nat -> vector)
    (best : vector -> vector) (U Z T : set) (mu mu_zeta : R) :=
  jacobian q n J /\ jacobian zeta m Jz /\
  (forall t, T t -> conditioned (states D * actions D) n J mu t) /\
  (forall p, Z p -> conditioned (states D) m Jz mu_zeta p) /\
  forall t, U t -> Z (best t) /\ forall x, (x < states D)%nat -> zeta (best t) x = PV D (q t) x.

(* D is the data that the steps draw from, D' the population. They may be the same: then eps = 0, and
   Qstar is the minimiser. *)
Definition theorem_13_of_the_paper := forall D D' Qstar n m q zeta J Jz A B best U Z T P
    mu mu_zeta c_pl b_min l room k1 k2 chance1 chance2 draw1 draw2 sigma c gamma theta0 phi0
    kappa p_A k eps,
  let F := fun t p => f D (q t) (zeta p) in
  let G := fun t => g D (q t) in
  let mu_1 := mu * c_pl in
  let mu_2 := 2 * beta D ^ 2 * b_min * mu_zeta in
  let L := l + l ^ 2 / mu_2 in
  let ratio := 18 * l ^ 2 / mu_2 ^ 2 in
  let tau := fun s => c / (gamma + INR s) in
  let E := expected k1 k2 chance1 chance2 draw1 draw2 ratio tau theta0 phi0 in
  (* the data *)
  counts D -> condition_S D -> constant_on D q T c_pl ->
  (forall x, (x < states D)%nat -> b_min <= b D x) -> 0 < b_min -> 0 < beta D ->
  (* the classes, smoothness, and the sets *)
  outputs_of D n m q zeta J Jz best U Z T mu mu_zeta -> 0 < mu -> 0 < mu_zeta -> 0 < c_pl ->
  gradients n m F A B -> l_smooth n m A B U Z l ->
  enlarged n m F G T U P Z mu_2 room -> convex U -> convex Z ->
  (* the steps *)
  unbiased k1 n chance1 draw1 A T P sigma -> unbiased k2 m chance2 draw2 B T P sigma ->
  iterates_stay k1 k2 draw1 draw2 ratio tau theta0 phi0 T P ->
  mu_2 <= l -> mu_1 <= L -> c > 2 / mu_1 -> 0 < gamma ->
  tau 0%nat <= 1 / L -> tau 0%nat <= 1 / l -> ratio * tau 0%nat <= 1 / l ->
  (* the population, identification (Lemma 28), and how much its excess risk exceeds that of the data *)
  counts D' -> condition_S D' -> condition_F D' ->
  has_coordinates D' Qstar (fun x a => ln (frequency D' x a)) (fun _ => 0) ->
  0 <= kappa -> resolvent_below D' kappa -> 0 < p_A -> 0 < k ->
  (forall x, (x < states D')%nat -> p_A <= frequency D' x (anchor D' x)) ->
  (forall t, T t -> forall x a, (x < states D')%nat -> (a < actions D')%nat ->
    Rabs (ln (choice (actions D') (q t) x a) - ln (choice (actions D') Qstar x a)) <= k) ->
  (forall s, E s (fun t _ => g D' (q t) - g D' Qstar) <= E s (fun t _ => G t - entropy D) + eps s) ->
  let W := fun t p => G t - entropy D + (G t - F t p) / 10 in
  let nu := Rmax (gamma * W theta0 phi0)
    (c ^ 2 * sigma ^ 2 * (11 * L + l + 324 * l ^ 5 / mu_2 ^ 4) / (10 * mu_1 * c - 20)) in
  let C_id := (1 + kappa / sqrt p_A) ^ 2 / ((exp (- k) - 1 + k) / k ^ 2) + kappa ^ 2 / p_A in
  forall s, E s (fun t _ => distance_to D' Qstar (q t)) <= C_id * (eps s + nu / (gamma + INR s)).

(* --- proofs *)
Lemma entry_of_slope : forall m x y,
  (forall p, dot m constant_one x p = sum m (fun d => y d * p d)) ->
  square_of_norm m x = sum m (fun d => y d ^ 2).
Proof.
  intros m x y H. unfold square_of_norm. rewrite H.
  assert (E : sum m (fun d => y d * (x d - y d)) = 0).
  { assert (Q : sum m (fun d => (x d - y d) ^ 2) = 0).
    { pose proof (H (fun d => x d - y d)) as K. rewrite dot_sum in K. unfold constant_one in K.
      rewrite (sum_ext m (fun d => (x d - y d) ^ 2) (fun d => 1 * x d * (x d - y d) +
        -1 * (y d * (x d - y d)))) by (intros; ring).
      rewrite sum_plus, sum_scal, K. ring. }
    assert (Zr : forall d, (d < m)%nat -> x d - y d = 0).
    { intros d Hd. pose proof (sum_term m (fun d => (x d - y d) ^ 2) d
        ltac:(intros; apply pow2_ge_0) Hd) as T. cbv beta in T. rewrite Q in T.
      pose proof (pow2_ge_0 (x d - y d)). nra. }
    rewrite (sum_ext m _ (fun _ => 0)), sum_const; [ring |].
    intros d Hd. cbv beta. rewrite Zr by auto. ring. }
  rewrite (sum_ext m (fun d => y d * x d) (fun d => y d ^ 2 + y d * (x d - y d))) by (intros; ring).
  rewrite sum_plus, E. ring.
Qed.

Section Proof.
Variables (D : data) (n m : nat) (q zeta : vector -> vector) (J Jz : vector -> nat -> vector).
Variables (A B : vector -> vector -> vector) (best : vector -> vector) (U Z T P : set).
Variables (mu mu_zeta c_pl b_min l room : R).
Let F (t p : vector) := f D (q t) (zeta p).
Let G (t : vector) := g D (q t).
Let mu_2 := 2 * beta D ^ 2 * b_min * mu_zeta.
Hypotheses (C : counts D) (S : condition_S D) (Cp : constant_on D q T c_pl).
Hypothesis Bm : forall x, (x < states D)%nat -> b_min <= b D x.
Hypotheses (b0 : 0 < b_min) (be : 0 < beta D) (m0 : 0 < mu) (mz : 0 < mu_zeta).
Hypothesis Ou : outputs_of D n m q zeta J Jz best U Z T mu mu_zeta.
Hypothesis Gr : gradients n m F A B.

Lemma gap_in_phi : forall t p, G t - F t p = beta D ^ 2 *
  sum (states D) (fun x => b D x * (zeta p x - PV D (q t) x) ^ 2).
Proof.
  intros. unfold G, F. destruct (profile_over_zeta_holds D C S (q t) (zeta p)) as [E _].
  rewrite E, dot_square. unfold off, less. ring.
Qed.

Lemma slope_in_phi : forall t p, square_of_norm m (B t p) = 4 * beta D ^ 4 *
  sum m (fun d => sum (states D) (fun x => Jz p d x * (b D x * (zeta p x - PV D (q t) x))) ^ 2).
Proof.
  intros t p. destruct Ou as [_ [HJ _]]. destruct Gr as [_ GB].
  set (y := fun d => - (2 * beta D ^ 2) *
    sum (states D) (fun x => Jz p d x * (b D x * (zeta p x - PV D (q t) x)))).
  rewrite (entry_of_slope m (B t p) y).
  - unfold y. rewrite <- sum_scal. apply sum_ext. intros. ring.
  - intros v. pose proof (GB t p v 0) as D1. rewrite along_0 in D1.
    apply (uniqueness_limite _ _ _ _ D1).
    assert (E : (fun s => F t (along p v s)) = (fun s => G t + - beta D ^ 2 *
      sum (states D) (fun x => b D x * (zeta (along p v s) x - PV D (q t) x) ^ 2))).
    { apply functional_extensionality. intros s. pose proof (gap_in_phi t (along p v s)). lra. }
    rewrite E.
    replace (sum m (fun d => y d * v d)) with (0 + - beta D ^ 2 * sum (states D) (fun x =>
      b D x * (2 * (zeta p x - PV D (q t) x) * sum m (fun d => Jz p d x * v d)))).
    + apply derivable_pt_lim_plus; [apply derivable_pt_lim_const |]. apply scaled_derivative.
      apply (sum_derivative (states D) (fun s x => b D x * (zeta (along p v s) x - PV D (q t) x) ^ 2)).
      intros x. apply scaled_derivative.
      replace (zeta p x - PV D (q t) x) with (zeta (along p v 0) x - PV D (q t) x)
        by (rewrite along_0; auto).
      apply (square_derivative (fun s => zeta (along p v s) x - PV D (q t) x)).
      pose proof (HJ p v 0 x) as K. rewrite along_0 in K.
      rewrite <- (Rminus_0_r (sum m _)).
      apply derivable_pt_lim_minus; [exact K | apply derivable_pt_lim_const].
    + rewrite Rplus_0_l, <- sum_scal.
      rewrite (sum_ext (states D) _ (fun x => sum m (fun d => - (2 * beta D ^ 2) * (Jz p d x *
        (b D x * (zeta p x - PV D (q t) x))) * v d))).
      * rewrite sum_swap. apply sum_ext. intros d _. unfold y.
        rewrite <- sum_scal, (Rmult_comm _ (v d)), <- sum_scal. apply sum_ext. intros. ring.
      * intros x _.
        replace (- beta D ^ 2 * (b D x * (2 * (zeta p x - PV D (q t) x) *
          sum m (fun d => Jz p d x * v d)))) with ((- (2 * beta D ^ 2) * b D x *
          (zeta p x - PV D (q t) x)) * sum m (fun d => Jz p d x * v d)) by ring.
        rewrite <- sum_scal. apply sum_ext. intros. ring.
Qed.

Lemma mu_2_pos : 0 < mu_2.
Proof.
  unfold mu_2. assert (0 < beta D ^ 2) by (apply pow_lt; auto).
  repeat apply Rmult_lt_0_compat; lra.
Qed.

Lemma pl_phi : pl_in_phi m F B G U Z mu_2.
Proof.
  intros t p Ht Hp. rewrite slope_in_phi, gap_in_phi.
  destruct Ou as [_ [_ [_ [Cz _]]]]. pose proof (Cz p Hp (fun x => b D x * (zeta p x - PV D (q t) x))) as K.
  cbv beta in K. set (a := sum m _) in *.
  assert (K2 : sum (states D) (fun x => (b D x * (zeta p x - PV D (q t) x)) ^ 2) >=
    b_min * sum (states D) (fun x => b D x * (zeta p x - PV D (q t) x) ^ 2)).
  { apply Rle_ge. rewrite <- sum_scal. apply sum_le. intros x Hx. pose proof (Bm x Hx).
    pose proof (pow2_ge_0 (zeta p x - PV D (q t) x)).
    replace ((b D x * (zeta p x - PV D (q t) x)) ^ 2) with
      (b D x * (b D x * (zeta p x - PV D (q t) x) ^ 2)) by ring.
    apply Rmult_le_compat_r; [apply Rmult_le_pos; lra | auto]. }
  set (y := sum (states D) (fun x => b D x * _)) in *.
  set (z := sum (states D) (fun x => (b D x * _) ^ 2)) in *.
  assert (K3 : mu_zeta * z >= mu_zeta * (b_min * y)) by (apply Rmult_ge_compat_l; lra).
  assert (b4 : 0 <= 2 * beta D ^ 4) by (assert (0 <= beta D ^ 4) by (apply pow_le; lra); lra).
  assert (K4 : 2 * beta D ^ 4 * a >= 2 * beta D ^ 4 * (mu_zeta * (b_min * y)))
    by (apply Rmult_ge_compat_l; lra).
  unfold mu_2. replace (2 * beta D ^ 2 * b_min * mu_zeta * (beta D ^ 2 * y)) with
    (2 * beta D ^ 4 * (mu_zeta * (b_min * y))) by ring. lra.
Qed.

Lemma attained_here : attained m F B G best U Z.
Proof.
  intros t Ht. destruct Ou as [_ [_ [_ [_ Be]]]]. destruct (Be t Ht) as [Zb E]. split; [auto |].
  assert (E0 : G t - F t (best t) = 0).
  { rewrite gap_in_phi, (sum_ext (states D) _ (fun _ => 0)), sum_const; [ring |].
    intros x Hx. rewrite E by auto. ring. }
  split; [lra |]. split.
  - rewrite slope_in_phi, (sum_ext m _ (fun _ => 0)), sum_const; [ring |]. intros d _.
    rewrite (sum_ext (states D) _ (fun _ => 0)), sum_const; [ring |].
    intros x Hx. rewrite E by auto. ring.
  - intros p _. pose proof (gap_in_phi t p) as K.
    assert (0 <= sum (states D) (fun x => b D x * (zeta p x - PV D (q t) x) ^ 2)).
    { apply sum_pos. intros. apply Rmult_le_pos; [apply b_nonneg; auto | apply pow2_ge_0]. }
    pose proof (pow2_ge_0 (beta D)). nra.
Qed.

Lemma pl_theta : l_smooth n m A B U Z l -> enlarged n m F G T U P Z mu_2 room -> 0 < l ->
  pl_of_g n A G best T (mu * c_pl) (entropy D).
Proof.
  intros Sm En l0 t Ht. destruct (Cp t Ht) as [alpha [Delta [Al [Pc Le]]]].
  destruct Ou as [HJ [_ [Co _]]]. split.
  - destruct (theorem_4_holds D alpha Delta c_pl n q J mu C S Al Pc HJ ltac:(lra)) as [GG Pl].
    specialize (Pl t (Co t Ht) Le). set (H := gradient_in_theta D q J t) in *.
    assert (E : square_of_norm n (slope_of_g A best t) = square_of_norm n H).
    { rewrite (entry_of_slope n _ H).
      - unfold square_of_norm. rewrite dot_sum. apply sum_ext. intros. unfold constant_one. ring.
      - intros v. pose proof (GG t v 0) as D1. rewrite along_0 in D1.
        pose proof (slope_of_profile_holds n m F A B G best U Z T P mu_2 l room Gr Sm pl_phi attained_here
          En l0 mu_2_pos t v Ht) as D2.
        rewrite (uniqueness_limite _ _ _ _ D2 D1), dot_sum. apply sum_ext. intros.
        unfold constant_one, H. ring. }
    rewrite E. exact Pl.
  - pose proof (gap_pos D C S (q t)) as K. unfold gap in K. unfold G. lra.
Qed.
End Proof.

Theorem theorem_13_of_the_paper_holds : theorem_13_of_the_paper.
Proof.
  intros D D' Qstar n m q zeta J Jz A B best U Z T P mu mu_zeta c_pl b_min l room k1 k2 chance1 chance2
    draw1 draw2 sigma c gamma theta0 phi0 kappa p_A k eps F G mu_1 mu_2 L ratio tau E C S Cp Bm b0 be Ou
    m0 mz c0 Gr Sm En CU CZ Un1 Un2 Stay Hmu Hmu1 Hc Hg T1 T2 T3 C' S' F' Star Hk Res Hp Hk0 Pa Near Gen W
    nu C_id s.
  assert (M2 : 0 < mu_2) by apply (mu_2_pos D mu_zeta b_min b0 be mz).
  assert (l0 : 0 < l) by lra.
  pose proof (attained_here D n m q zeta J Jz A B best U Z T mu mu_zeta C S Ou Gr) as At.
  pose proof (pl_phi D n m q zeta J Jz A B best U Z T mu mu_zeta b_min C S Bm b0 be mz Ou Gr) as Pp.
  pose proof (pl_theta D n m q zeta J Jz A B best U Z T P mu mu_zeta c_pl b_min l room C S Cp Bm b0 be m0
    mz Ou Gr Sm En l0) as Pt.
  assert (M1 : 0 < mu_1) by (apply Rmult_lt_0_compat; auto).
  pose proof (theorem_12_of_the_paper_holds n m F A B G best U Z T P mu_1 mu_2 l room (entropy D) k1 k2
    chance1 chance2 draw1 draw2 sigma c gamma theta0 phi0 Gr Sm Pp At Pt En CU CZ Un1 Un2 Stay
    (conj M2 Hmu) (conj M1 Hmu1) Hc Hg T1 T2 T3 s) as R. cbv zeta in R. fold L ratio tau in R.
  change (E s W <= nu / (gamma + INR s)) in R.
  destruct (theorem_2_holds D' Qstar C' S' F' Star) as [_ [_ Id]].
  assert (Ch1 := proj1 Un1). assert (Su1 := proj1 (proj2 Un1)).
  assert (Ch2 := proj1 Un2). assert (Su2 := proj1 (proj2 Un2)).
  assert (Cpos : 0 <= C_id).
  { assert (0 < (exp (- k) - 1 + k) / k ^ 2).
    { apply Rdiv_lt_0_compat; [| apply pow_lt; auto]. pose proof (exp_ineq1 (- k) ltac:(lra)) as Ex. lra. }
    unfold C_id. apply Rplus_le_le_0_compat; unfold Rdiv; apply Rmult_le_pos; try apply pow2_ge_0;
      left; apply Rinv_0_lt_compat; assumption. }
  assert (I : E s (fun t _ => distance_to D' Qstar (q t)) <=
    E s (fun t p => C_id * (g D' (q t) - g D' Qstar) + 0)).
  { apply expected_le; auto. intros t p Re. destruct (Stay s t p Re) as [Ht _]. rewrite Rplus_0_r.
    exact (Id kappa p_A k (q t) Hk Res Hp Hk0 Pa (Near t Ht)). }
  unfold E in I. rewrite (expected_affine k1 k2 chance1 chance2 draw1 draw2 ratio tau theta0 phi0 Su1 Su2 s
    (fun t _ => g D' (q t) - g D' Qstar) C_id 0) in I. fold E in I.
  assert (V : E s (fun t _ => G t - entropy D) <= E s W).
  { apply expected_le; auto. intros t p Re. destruct (Stay s t p Re) as [Ht Hph].
    pose proof (TU n m F G U Z T P mu_2 room En t Ht) as Ut.
    pose proof (PZ n m F G U Z T P mu_2 room En t p Ht Hph) as Zp.
    destruct (At t Ut) as [_ [_ [_ Max]]]. assert (Mp : F t p <= G t) by exact (Max p Zp).
    change (G t - entropy D <= G t - entropy D + (G t - F t p) / 10).
    generalize dependent Mp. generalize (F t p) (G t) (entropy D). clear. intros. lra. }
  specialize (Gen s).
  assert (Fin : E s (fun t _ => g D' (q t) - g D' Qstar) <= eps s + nu / (gamma + INR s)) by lra.
  eapply Rle_trans; [exact I |]. rewrite Rplus_0_r. apply Rmult_le_compat_l; auto.
Qed.

Print Assumptions theorem_13_of_the_paper_holds.
