(* The paper's Theorem 12 as corrected (E3): stochastic descent in theta and ascent in phi with two
   schedules. The noise has finite support, so that an expectation is a finite sum. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality.
Require Import vectors two_time_scales pl ball.
Open Scope R_scope.

Definition square_of_norm (n : nat) (x : vector) := dot n constant_one x x.
Definition set := vector -> Prop.

(* --- statements *)
Section Problem.
Variables (n m : nat).  (* parameters of Q and of zeta *)
Variable f : vector -> vector -> R.  (* f-hat_N(theta, phi) *)
Variables (A B : vector -> vector -> vector).  (* its gradients in theta and in phi *)
Variable g : vector -> R.  (* g-hat_N, the largest value over phi *)
Variable best : vector -> vector.  (* and where it is *)
Local Notation norm2 := square_of_norm.

Definition gradients := (forall phi, gradient_of_g n constant_one (fun theta => f theta phi)
    (fun theta => A theta phi)) /\
  forall theta, gradient_of_g m constant_one (f theta) (B theta).

(* f is l-smooth in both blocks together, for theta in U and phi in Z *)
Definition l_smooth (U Z : set) (l : R) := forall t t' p p', U t -> U t' -> Z p -> Z p' ->
  norm2 n (less (A t' p') (A t p)) + norm2 m (less (B t' p') (B t p)) <=
  l ^ 2 * (norm2 n (less t' t) + norm2 m (less p' p)).
Definition pl_in_phi (U Z : set) (mu_2 : R) := forall t p, U t -> Z p ->
  norm2 m (B t p) / 2 >= mu_2 * (g t - f t p).
(* g is the largest value over Z, at a point where f has no slope in phi *)
Definition attained (U Z : set) := forall t, U t ->
  Z (best t) /\ g t = f t (best t) /\ norm2 m (B t (best t)) = 0 /\ forall p, Z p -> f t p <= g t.
(* The gradient of g, which slope_of_profile shows it to be. *)
Definition slope_of_g (t : vector) := A t (best t).
Definition pl_of_g (T : set) (mu_1 least : R) := forall t, T t ->
  norm2 n (slope_of_g t) / 2 >= mu_1 * (g t - least) /\ least <= g t.

Definition convex (U : set) := forall x p s,
  U x -> U (along x p 1) -> 0 <= s <= 1 -> U (along x p s).
(* U holds what is near T. Z holds the ball about each phi of P whose radius is that of E16, and a
   little more. *)
Definition enlarged (T U P Z : set) (mu_2 room : R) := 0 < room /\
  (forall t d, T t -> norm_of n d <= room -> U (along t d 1)) /\
  forall t p p', T t -> P p ->
    norm_of m (less p' p) <= sqrt (2 * (g t - f t p) / mu_2) + room -> Z p'.

(* --- the noise: outcomes i and j of the two steps, with chances *)
Variables (k1 k2 : nat) (chance1 chance2 : vector).
Variables (draw1 draw2 : nat -> vector -> vector -> vector).
Definition unbiased (k c : nat) (chance : vector) (draw : nat -> vector -> vector -> vector)
  (H : vector -> vector -> vector) (T P : set) (sigma : R) :=
  (forall i, 0 <= chance i) /\ sum k chance = 1 /\ forall t p, T t -> P p ->
  (forall e, (e < c)%nat -> sum k (fun i => chance i * draw i t p e) = H t p e) /\
  sum k (fun i => chance i * norm2 c (less (draw i t p) (H t p))) <= sigma ^ 2.

(* theta+ = theta - tau draw1(theta, phi), phi+ = phi + ratio tau draw2(theta+, phi) *)
Variables (ratio : R) (tau : nat -> R) (theta0 phi0 : vector).
Definition theta_next (s : nat) (t p : vector) (i : nat) := along t (draw1 i t p) (- tau s).
Definition phi_next (s : nat) (t p : vector) (i j : nat) :=
  along p (draw2 j (theta_next s t p i) p) (ratio * tau s).
(* the expectation after one step, and after T steps from the start *)
Definition after_one (s : nat) (h : vector -> vector -> R) (t p : vector) :=
  sum k1 (fun i => chance1 i * sum k2 (fun j => chance2 j *
    h (theta_next s t p i) (phi_next s t p i j))).
Fixpoint expected (T : nat) (h : vector -> vector -> R) : R :=
  match T with O => h theta0 phi0 | S s => expected s (after_one s h) end.
Inductive reached : nat -> vector -> vector -> Prop :=
  | at_start : reached 0 theta0 phi0
  | after_step : forall s t p i j, reached s t p -> (i < k1)%nat -> (j < k2)%nat ->
      reached (S s) (theta_next s t p i) (phi_next s t p i j).
Definition iterates_stay (T P : set) := forall s t p, reached s t p -> T t /\ P p.
End Problem.

Definition slope_of_profile := forall n m f A B g best U Z T P mu_2 l room,
  gradients n m f A B -> l_smooth n m A B U Z l -> pl_in_phi m f B g U Z mu_2 ->
  attained m f B g best U Z -> enlarged n m f g T U P Z mu_2 room -> 0 < l -> 0 < mu_2 ->
  forall t p, T t -> derivable_pt_lim (fun s => g (along t p s)) 0
    (dot n constant_one (slope_of_g A best t) p).

Definition growth_in_phi := forall n m f A B g best U Z T P mu_2 l room,
  gradients n m f A B -> l_smooth n m A B U Z l -> pl_in_phi m f B g U Z mu_2 ->
  attained m f B g best U Z -> enlarged n m f g T U P Z mu_2 room -> convex U -> convex Z ->
  0 < mu_2 <= l -> (forall t, T t -> U t) ->
  forall t p, T t -> P p ->
  square_of_norm n (less (slope_of_g A best t) (A t p)) <= 2 * l ^ 2 / mu_2 * (g t - f t p).

(* mu_1 <= L holds where g falls to least inside its smooth region, and mu_2 <= l where f does change
   with phi. Only the two steps' variances are bounded, by the same sigma^2. *)
Definition theorem_12_of_the_paper := forall n m f A B g best U Z T P mu_1 mu_2 l room least
    k1 k2 chance1 chance2 draw1 draw2 sigma c gamma theta0 phi0,
  let L := l + l ^ 2 / mu_2 in
  let ratio := 18 * l ^ 2 / mu_2 ^ 2 in
  let tau := fun t => c / (gamma + INR t) in
  gradients n m f A B -> l_smooth n m A B U Z l -> pl_in_phi m f B g U Z mu_2 ->
  attained m f B g best U Z -> pl_of_g n A g best T mu_1 least ->
  enlarged n m f g T U P Z mu_2 room -> convex U -> convex Z ->
  unbiased k1 n chance1 draw1 A T P sigma -> unbiased k2 m chance2 draw2 B T P sigma ->
  iterates_stay k1 k2 draw1 draw2 ratio tau theta0 phi0 T P ->
  0 < mu_2 <= l -> 0 < mu_1 <= L -> c > 2 / mu_1 -> 0 < gamma ->
  tau 0%nat <= 1 / L -> tau 0%nat <= 1 / l -> ratio * tau 0%nat <= 1 / l ->
  let W := fun t p => g t - least + (g t - f t p) / 10 in
  let nu := Rmax (gamma * W theta0 phi0)
    (c ^ 2 * sigma ^ 2 * (11 * L + l + 324 * l ^ 5 / mu_2 ^ 4) / (10 * mu_1 * c - 20)) in
  forall t, expected k1 k2 chance1 chance2 draw1 draw2 ratio tau theta0 phi0 t W <=
    nu / (gamma + INR t).

(* --- a function with a Lipschitz slope lies between two parabolas *)
Lemma norm2_scaled : forall n x s, square_of_norm n (fun i => s * x i) = s ^ 2 * square_of_norm n x.
Proof.
  intros. unfold square_of_norm. rewrite !dot_sum, <- sum_scal. apply sum_ext. intros. ring.
Qed.
Lemma norm2_pos : forall n x, 0 <= square_of_norm n x.
Proof. intros. apply dot_pos. apply one_pos. Qed.
Lemma dot_scaled : forall n x y s, dot n constant_one x (fun i => s * y i) =
  s * dot n constant_one x y.
Proof. intros. rewrite !dot_sum, <- sum_scal. apply sum_ext. intros. ring. Qed.
Lemma along_scaled : forall x p s r, along x (fun i => s * p i) r = along x p (r * s).
Proof. intros. apply functional_extensionality. intros. unfold along. ring. Qed.

Lemma parabolas : forall n h H l x p, gradient_of_g n constant_one h H -> 0 <= l ->
  (forall s, 0 <= s <= 1 -> square_of_norm n (less (H (along x p s)) (H x)) <=
    l ^ 2 * (s ^ 2 * square_of_norm n p)) ->
  - (l / 2 * square_of_norm n p) <= h (along x p 1) - h x - dot n constant_one (H x) p <=
  l / 2 * square_of_norm n p.
Proof.
  intros n h H l x p D Hl Sm. set (N := square_of_norm n p) in *.
  assert (N0 : 0 <= N) by apply norm2_pos.
  assert (Near : forall s, 0 <= s <= 1 ->
    Rabs (dot n constant_one (H (along x p s)) p - dot n constant_one (H x) p) <= l * s * N).
  { intros s Hs. specialize (Sm s Hs). set (d := less (H (along x p s)) (H x)) in *.
    assert (E : dot n constant_one (H (along x p s)) p - dot n constant_one (H x) p =
      dot n constant_one d p).
    { unfold d. rewrite (dot_sym n _ (less _ _) p), dot_less, (dot_sym n _ p),
        (dot_sym n _ p (H x)). ring. }
    rewrite E. pose proof (cauchy n constant_one d p one_pos) as C. fold (square_of_norm n d) in C.
    change (dot n constant_one p p) with N in C.
    apply below_root; [repeat apply Rmult_le_pos; lra |].
    replace (Rabs (dot n constant_one d p) ^ 2) with (dot n constant_one d p ^ 2)
      by (rewrite <- !Rsqr_pow2; apply Rsqr_abs).
    eapply Rle_trans; [exact C |].
    replace ((l * s * N) ^ 2) with (l ^ 2 * (s ^ 2 * N) * N) by ring.
    apply Rmult_le_compat_r; auto. }
  destruct (MVT_cor2 (fun s => h (along x p s) - (dot n constant_one (H x) p * s + l * N / 2 * s ^ 2))
    (fun s => dot n constant_one (H (along x p s)) p - (dot n constant_one (H x) p + l * N * s))
    0 1 ltac:(lra)) as [u [Eu Hu]].
  { intros s _. apply derivable_pt_lim_minus; [apply D |].
    apply derivable_pt_lim_plus.
    - replace (dot n constant_one (H x) p) with (dot n constant_one (H x) p * 1) at 2 by ring.
      apply (scaled_derivative _ (fun s => s)). apply derivable_pt_lim_id.
    - replace (l * N * s) with (l * N / 2 * (2 * s * 1)) by field.
      apply (scaled_derivative _ (fun s => s ^ 2)). apply (square_derivative (fun s => s)).
      apply derivable_pt_lim_id. }
  destruct (MVT_cor2 (fun s => h (along x p s) - (dot n constant_one (H x) p * s - l * N / 2 * s ^ 2))
    (fun s => dot n constant_one (H (along x p s)) p - (dot n constant_one (H x) p - l * N * s))
    0 1 ltac:(lra)) as [v [Ev Hv]].
  { intros s _. apply derivable_pt_lim_minus; [apply D |].
    apply derivable_pt_lim_minus.
    - replace (dot n constant_one (H x) p) with (dot n constant_one (H x) p * 1) at 2 by ring.
      apply (scaled_derivative _ (fun s => s)). apply derivable_pt_lim_id.
    - replace (l * N * s) with (l * N / 2 * (2 * s * 1)) by field.
      apply (scaled_derivative _ (fun s => s ^ 2)). apply (square_derivative (fun s => s)).
      apply derivable_pt_lim_id. }
  rewrite along_0 in Eu, Ev.
  pose proof (Near u ltac:(lra)) as Nu. pose proof (Near v ltac:(lra)) as Nv.
  pose proof (Rle_abs (dot n constant_one (H (along x p u)) p - dot n constant_one (H x) p)).
  pose proof (Rle_abs (- (dot n constant_one (H (along x p v)) p - dot n constant_one (H x) p))) as Q.
  rewrite Rabs_Ropp in Q. split; lra.
Qed.
Lemma to_square : forall n x, norm_of n x ^ 2 = square_of_norm n x.
Proof. intros. apply norm_squared. Qed.
Lemma norm_below : forall n x y, 0 <= y -> square_of_norm n x <= y ^ 2 -> norm_of n x <= y.
Proof. intros. apply below_root; [auto |]. rewrite to_square. auto. Qed.
Lemma less_along : forall x p s, less (along x p s) x = (fun i => s * p i).
Proof. intros. apply functional_extensionality. intros. unfold less, along. ring. Qed.
Lemma less_self : forall n x, square_of_norm n (less x x) = 0.
Proof.
  intros. unfold square_of_norm. rewrite dot_sum, (sum_ext n _ (fun _ => 0)), sum_const; [ring |].
  intros. unfold less. ring.
Qed.

(* --- the profile *)
Section Profile.
Variables (n m : nat) (f : vector -> vector -> R) (A B : vector -> vector -> vector).
Variables (g : vector -> R) (best : vector -> vector) (U Z T P : set) (mu_2 l room : R).
Hypothesis Gr : gradients n m f A B.
Hypothesis Sm : l_smooth n m A B U Z l.
Hypothesis PL : pl_in_phi m f B g U Z mu_2.
Hypothesis At : attained m f B g best U Z.
Hypothesis En : enlarged n m f g T U P Z mu_2 room.
Hypotheses (Hl : 0 < l) (Hmu : 0 < mu_2).
Let L := l + l ^ 2 / mu_2.
Local Notation G := (slope_of_g A best).

Lemma smooth_theta : forall t t' p, U t -> U t' -> Z p ->
  square_of_norm n (less (A t' p) (A t p)) <= l ^ 2 * square_of_norm n (less t' t).
Proof.
  intros t t' p Ht Ht' Hp. pose proof (Sm t t' p p Ht Ht' Hp Hp) as S. rewrite less_self in S.
  pose proof (norm2_pos m (less (B t' p) (B t p))). lra.
Qed.
Lemma cross_theta : forall t t' p, U t -> U t' -> Z p ->
  square_of_norm m (less (B t' p) (B t p)) <= l ^ 2 * square_of_norm n (less t' t).
Proof.
  intros t t' p Ht Ht' Hp. pose proof (Sm t t' p p Ht Ht' Hp Hp) as S. rewrite less_self in S.
  pose proof (norm2_pos n (less (A t' p) (A t p))). lra.
Qed.
Lemma smooth_phi : forall t p p', U t -> Z p -> Z p' ->
  square_of_norm m (less (B t p') (B t p)) <= l ^ 2 * square_of_norm m (less p' p).
Proof.
  intros t p p' Ht Hp Hp'. pose proof (Sm t t p p' Ht Ht Hp Hp') as S. rewrite less_self in S.
  pose proof (norm2_pos n (less (A t p') (A t p))). lra.
Qed.
Lemma cross_phi : forall t p p', U t -> Z p -> Z p' ->
  square_of_norm n (less (A t p') (A t p)) <= l ^ 2 * square_of_norm m (less p' p).
Proof.
  intros t p p' Ht Hp Hp'. pose proof (Sm t t p p' Ht Ht Hp Hp') as S. rewrite less_self in S.
  pose proof (norm2_pos m (less (B t p') (B t p))). lra.
Qed.

Lemma f_along_theta : forall t d p, (forall s, 0 <= s <= 1 -> U (along t d s)) -> Z p ->
  - (l / 2 * square_of_norm n d) <= f (along t d 1) p - f t p - dot n constant_one (A t p) d <=
  l / 2 * square_of_norm n d.
Proof.
  intros t d p HU Hp.
  apply (parabolas n (fun t => f t p) (fun t => A t p) l t d); [apply Gr | lra |].
  intros s Hs. pose proof (HU 0 ltac:(lra)) as U0. rewrite along_0 in U0.
  pose proof (smooth_theta t (along t d s) p U0 (HU s Hs) Hp) as S.
  rewrite less_along, norm2_scaled in S. exact S.
Qed.
Lemma f_along_phi : forall t p d, U t -> (forall s, 0 <= s <= 1 -> Z (along p d s)) ->
  - (l / 2 * square_of_norm m d) <= f t (along p d 1) - f t p - dot m constant_one (B t p) d <=
  l / 2 * square_of_norm m d.
Proof.
  intros t p d HU Hp. apply (parabolas m (f t) (B t) l p d); [apply Gr | lra |].
  intros s Hs. pose proof (Hp 0 ltac:(lra)) as Z0. rewrite along_0 in Z0.
  pose proof (smooth_phi t p (along p d s) HU Z0 (Hp s Hs)) as S.
  rewrite less_along, norm2_scaled in S. exact S.
Qed.

Lemma L_pos : 0 < L.
Proof. unfold L. assert (0 < l ^ 2 / mu_2) by (apply Rdiv_lt_0_compat; [apply pow_lt |]; lra). lra. Qed.

(* the profile is below its parabola, and above that of f at the best phi *)
Lemma g_above : forall t d, (forall s, 0 <= s <= 1 -> U (along t d s)) ->
  g t + dot n constant_one (G t) d - l / 2 * square_of_norm n d <= g (along t d 1).
Proof.
  intros t d HU. pose proof (HU 0 ltac:(lra)) as U0. rewrite along_0 in U0.
  destruct (At t U0) as [Zb [E [_ _]]]. destruct (At _ (HU 1 ltac:(lra))) as [_ [_ [_ M]]].
  pose proof (f_along_theta t d (best t) HU Zb) as F. pose proof (M _ Zb). unfold slope_of_g. lra.
Qed.
Lemma g_below : forall t d, (forall s, 0 <= s <= 1 -> U (along t d s)) ->
  g (along t d 1) <= g t + dot n constant_one (G t) d + L / 2 * square_of_norm n d.
Proof.
  intros t d HU. pose proof (HU 0 ltac:(lra)) as U0. rewrite along_0 in U0.
  destruct (At t U0) as [Zb [E [E0 _]]]. pose proof (HU 1 ltac:(lra)) as U1.
  pose proof (f_along_theta t d (best t) HU Zb) as F.
  pose proof (PL (along t d 1) (best t) U1 Zb) as Q.
  pose proof (cross_theta t (along t d 1) (best t) U0 U1 Zb) as C.
  rewrite less_along, norm2_scaled in C.
  assert (C2 : square_of_norm m (less (B (along t d 1) (best t)) (B t (best t))) =
    square_of_norm m (B (along t d 1) (best t))).
  { unfold square_of_norm. rewrite dot_less, (dot_sym m _ (less _ _)), dot_less.
    rewrite (dot_sym m _ (less _ _) (B t (best t))), dot_less.
    assert (Zr : forall x, dot m constant_one (B t (best t)) x = 0).
    { intros x. pose proof (cauchy m constant_one (B t (best t)) x one_pos) as K.
      fold (square_of_norm m (B t (best t))) in K. rewrite E0 in K.
      pose proof (pow2_ge_0 (dot m constant_one (B t (best t)) x)). nra. }
    rewrite !Zr, (dot_sym m _ _ (B t (best t))), Zr. ring. }
  rewrite C2 in C. unfold slope_of_g, L.
  assert (D : mu_2 * (g (along t d 1) - f (along t d 1) (best t)) <= l ^ 2 * square_of_norm n d / 2)
    by lra.
  apply Rmult_le_compat_l with (r := / mu_2) in D; [| left; apply Rinv_0_lt_compat; auto].
  replace (/ mu_2 * (mu_2 * (g (along t d 1) - f (along t d 1) (best t)))) with
    (g (along t d 1) - f (along t d 1) (best t)) in D by (field; lra).
  replace (/ mu_2 * (l ^ 2 * square_of_norm n d / 2)) with
    (l ^ 2 / mu_2 / 2 * square_of_norm n d) in D by (field; lra). lra.
Qed.

Lemma near_T : forall t d s, T t -> norm_of n d <= room -> 0 <= s <= 1 -> U (along t d s).
Proof.
  intros t d s Ht Hd Hs. destruct En as [_ [H _]]. specialize (H t (fun i => s * d i) Ht).
  rewrite along_scaled, Rmult_1_l in H. apply H. rewrite norm_scaled, Rabs_pos_eq by lra.
  pose proof (norm_pos n d). nra.
Qed.

Lemma slope_of_g_holds : forall t p, T t ->
  derivable_pt_lim (fun s => g (along t p s)) 0 (dot n constant_one (G t) p).
Proof.
  intros t p Ht eps He. pose proof En as [Hr _].
  set (N := square_of_norm n p). assert (N0 : 0 <= N) by apply norm2_pos.
  pose proof L_pos as HL. assert (l <= L).
  { unfold L. assert (0 < l ^ 2 / mu_2) by (apply Rdiv_lt_0_compat; [apply pow_lt |]; lra). lra. }
  set (d := Rmin (room / (norm_of n p + 1)) (eps / (L * (N + 1)))).
  pose proof (norm_pos n p) as NP.
  assert (Hd : 0 < d).
  { apply Rmin_pos; apply Rdiv_lt_0_compat; try lra. apply Rmult_lt_0_compat; lra. }
  exists (mkposreal d Hd). intros h Hh Hs. simpl in Hs. rewrite Rplus_0_l, along_0.
  assert (D1 : Rabs h < room / (norm_of n p + 1)) by (eapply Rlt_le_trans; [exact Hs | apply Rmin_l]).
  assert (D2 : Rabs h < eps / (L * (N + 1))) by (eapply Rlt_le_trans; [exact Hs | apply Rmin_r]).
  pose proof (Rabs_pos h). pose proof (Rabs_pos_lt h Hh) as Hp.
  assert (I : norm_of n (fun i => h * p i) <= room).
  { rewrite norm_scaled. apply Rle_trans with (room / (norm_of n p + 1) * norm_of n p).
    - apply Rmult_le_compat_r; lra.
    - apply Rmult_le_reg_r with (norm_of n p + 1); [lra |].
      replace (room / (norm_of n p + 1) * norm_of n p * (norm_of n p + 1)) with
        (room * norm_of n p) by (field; lra). nra. }
  assert (HU : forall s, 0 <= s <= 1 -> U (along t (fun i => h * p i) s))
    by (intros; apply near_T; auto).
  pose proof (g_above t _ HU) as Lo. pose proof (g_below t _ HU) as Hi.
  rewrite along_scaled, Rmult_1_l, dot_scaled, norm2_scaled in Lo, Hi. fold N in Lo, Hi.
  set (x := g (along t p h) - g t - h * dot n constant_one (G t) p).
  assert (X : Rabs x <= L / 2 * (Rabs h ^ 2 * N)).
  { replace (Rabs h ^ 2) with (h ^ 2) by (rewrite <- !Rsqr_pow2; apply Rsqr_abs).
    pose proof (pow2_ge_0 h). assert (0 <= h ^ 2 * N) by (apply Rmult_le_pos; auto).
    apply Rabs_le. unfold x. split; nra. }
  replace ((g (along t p h) - g t) / h - dot n constant_one (G t) p) with (x / h)
    by (unfold x; field; auto).
  unfold Rdiv. rewrite Rabs_mult, Rabs_inv.
  apply Rle_lt_trans with (L / 2 * (Rabs h ^ 2 * N) * / Rabs h).
  - apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto | auto].
  - replace (L / 2 * (Rabs h ^ 2 * N) * / Rabs h) with (Rabs h * (L * N / 2)) by (field; lra).
    assert (K : Rabs h * (L * (N + 1)) < eps).
    { apply Rmult_lt_compat_r with (r := L * (N + 1)) in D2; [| nra].
      replace (eps / (L * (N + 1)) * (L * (N + 1))) with eps in D2 by (field; lra). auto. }
    nra.
Qed.

(* --- the slope of f is near that of g where phi is nearly best *)
Hypotheses (CU : convex U) (CZ : convex Z) (Hmul : mu_2 <= l) (TU : forall t, T t -> U t).

Lemma crude : forall t p, T t -> Z p -> let y := norm_of n (less (G t) (A t p)) in
  y <= Rmax (2 * (g t - f t p) / room) (sqrt (4 * L * (g t - f t p))).
Proof.
  intros t p Ht Hp y. pose proof En as [Hr _]. pose proof L_pos as HL.
  assert (y0 : 0 <= y) by apply norm_pos.
  destruct (At t (TU t Ht)) as [_ [_ [_ M]]]. pose proof (M p Hp) as Gap.
  destruct (Req_dec y 0) as [Zy | Zy].
  { rewrite Zy. eapply Rle_trans; [| apply Rmax_r]. apply sqrt_pos. }
  assert (l <= L).
  { unfold L. assert (0 < l ^ 2 / mu_2) by (apply Rdiv_lt_0_compat; [apply pow_lt |]; lra). lra. }
  set (s := Rmin (1 / (2 * L)) (room / y)).
  assert (Hs : 0 < s) by (apply Rmin_pos; apply Rdiv_lt_0_compat; lra).
  assert (s1 : s <= 1 / (2 * L)) by apply Rmin_l. assert (s2 : s <= room / y) by apply Rmin_r.
  set (e := less (A t p) (G t)).
  assert (Ny : norm_of n e = y).
  { unfold y, norm_of. f_equal. rewrite !dot_sum. apply sum_ext. intros. unfold e, less. ring. }
  assert (HU : forall r, 0 <= r <= 1 -> U (along t (fun i => s * e i) r)).
  { intros r Hrr. apply near_T; auto. rewrite norm_scaled, Rabs_pos_eq, Ny by lra.
    apply Rmult_le_compat_r with (r := y) in s2; [| lra].
    replace (room / y * y) with room in s2 by (field; lra). auto. }
  pose proof (g_below t _ HU) as Hi. pose proof (f_along_theta t _ p HU Hp) as Lo.
  destruct (At _ (HU 1 ltac:(lra))) as [_ [_ [_ M1]]]. pose proof (M1 p Hp) as Top.
  rewrite dot_scaled, norm2_scaled in Hi, Lo. rewrite <- to_square, Ny in Hi, Lo.
  assert (E : dot n constant_one (A t p) e - dot n constant_one (G t) e = y ^ 2).
  { rewrite <- Ny, norm_squared. unfold e. rewrite (dot_sym n _ (A t p)), (dot_sym n _ (G t)).
    rewrite <- dot_less. reflexivity. }
  assert (K : s * y ^ 2 <= g t - f t p + L * (s ^ 2 * y ^ 2)).
  { assert (0 <= s ^ 2 * y ^ 2) by (apply Rmult_le_pos; apply pow2_ge_0). nra. }
  assert (sL : s * L <= 1 / 2).
  { apply Rmult_le_compat_r with (r := L) in s1; [| lra].
    replace (1 / (2 * L) * L) with (1 / 2) in s1 by (field; lra). auto. }
  assert (K2 : s * y ^ 2 <= 2 * (g t - f t p)).
  { assert (L * (s ^ 2 * y ^ 2) <= 1 / 2 * (s * y ^ 2)).
    { replace (L * (s ^ 2 * y ^ 2)) with (s * L * (s * y ^ 2)) by ring.
      apply Rmult_le_compat_r; [| auto]. apply Rmult_le_pos; [lra | apply pow2_ge_0]. }
    lra. }
  unfold s, Rmin in K2. destruct (Rle_dec (1 / (2 * L)) (room / y)).
  - eapply Rle_trans; [| apply Rmax_r]. apply below_root; [apply sqrt_pos |]. rewrite pow2_sqrt by nra.
    apply Rmult_le_compat_l with (r := 2 * L) in K2; [| lra].
    replace (2 * L * (1 / (2 * L) * y ^ 2)) with (y ^ 2) in K2 by (field; lra). lra.
  - eapply Rle_trans; [| apply Rmax_l].
    replace (room / y * y ^ 2) with (room * y) in K2 by (field; lra).
    apply Rmult_le_reg_l with room; [auto |].
    replace (room * (2 * (g t - f t p) / room)) with (2 * (g t - f t p)) by (field; lra). auto.
Qed.

Section Ascent.
Variables (t p0 : vector) (s : R).
Hypotheses (Ht : T t) (Hp : P p0).
Let Rad := sqrt (2 * (g t - f t p0) / mu_2).
Let Cap := norm_of m (B t p0) + l * (Rad + room).
Hypothesis Hs : 0 < s.
Hypothesis s1 : s * l <= 1.
Hypothesis s2 : s * (Rad * l + Cap) <= room.

Fixpoint ascent (k : nat) : vector :=
  match k with O => p0 | S k => along (ascent k) (B t (ascent k)) s end.
Let gap (k : nat) := g t - f t (ascent k).
Let root (k : nat) := sqrt (gap k).
Let far (k : nat) := norm_of m (less (ascent k) p0).

Lemma Rad_pos : 0 <= Rad. Proof. apply sqrt_pos. Qed.
Lemma room_pos : 0 < room. Proof. apply En. Qed.
Lemma in_Z : forall p, norm_of m (less p p0) <= Rad + room -> Z p.
Proof. intros p H. destruct En as [_ [_ E]]. apply (E t p0 p Ht Hp H). Qed.
Lemma start_in_Z : Z p0.
Proof.
  apply in_Z. unfold norm_of. fold (square_of_norm m (less p0 p0)). rewrite less_self, sqrt_0.
  pose proof Rad_pos. pose proof room_pos. lra.
Qed.
Lemma gap_nonneg : forall p, Z p -> 0 <= g t - f t p.
Proof. intros p H. destruct (At t (TU t Ht)) as [_ [_ [_ M]]]. pose proof (M p H). lra. Qed.
Lemma Rad_root : sqrt (2 / mu_2) * root 0 = Rad.
Proof.
  unfold root, gap, Rad. simpl. rewrite <- sqrt_mult.
  - f_equal. field. lra.
  - left. apply Rdiv_lt_0_compat; lra.
  - apply gap_nonneg. apply start_in_Z.
Qed.
Lemma Cap_pos : 0 <= Cap.
Proof.
  unfold Cap. pose proof (norm_pos m (B t p0)). pose proof Rad_pos. pose proof room_pos.
  assert (0 <= l * (Rad + room)) by (apply Rmult_le_pos; lra). lra.
Qed.

Definition path (k : nat) :=
  (1 - s * l / 2) * far k <= sqrt (2 / mu_2) * (root 0 - root k) /\ Z (ascent k) /\
  gap k <= (1 - mu_2 * s) ^ k * gap 0 /\ far k <= Rad * (1 + s * l).

Lemma far_below : forall k, Z (ascent k) ->
  (1 - s * l / 2) * far k <= sqrt (2 / mu_2) * (root 0 - root k) -> far k <= Rad * (1 + s * l).
Proof.
  intros k Zk H. pose proof (sqrt_pos (gap k)) as Rk. fold (root k) in Rk.
  assert (0 <= sqrt (2 / mu_2)) by apply sqrt_pos. pose proof Rad_root as E.
  assert (H2 : (1 - s * l / 2) * far k <= Rad) by nra.
  pose proof (norm_pos m (less (ascent k) p0)) as F. fold (far k) in F. pose proof Rad_pos.
  assert (0 <= s * l) by nra.
  apply Rmult_le_reg_l with (1 - s * l / 2); [lra |]. eapply Rle_trans; [exact H2 |].
  replace ((1 - s * l / 2) * (Rad * (1 + s * l))) with
    (Rad + Rad * (s * l) * (1 - s * l) / 2) by field.
  assert (0 <= Rad * (s * l)) by (apply Rmult_le_pos; auto).
  assert (0 <= Rad * (s * l) * (1 - s * l)) by (apply Rmult_le_pos; lra). lra.
Qed.

Lemma norm_triangle : forall x y z, norm_of m (less x z) <= norm_of m (less x y) + norm_of m (less y z).
Proof.
  intros. pose proof (norm_along m (less x y) (less y z) 1) as N. rewrite Rabs_R1, Rmult_1_l in N.
  assert (E : along (less x y) (less y z) 1 = less x z).
  { apply functional_extensionality. intros. unfold along, less. ring. }
  rewrite E in N. exact N.
Qed.

Lemma slope_below_cap : forall k, Z (ascent k) -> far k <= Rad * (1 + s * l) ->
  norm_of m (B t (ascent k)) <= Cap.
Proof.
  intros k Zk Fk. pose proof start_in_Z as Z0. pose proof (norm_pos m (less (ascent k) p0)) as F.
  fold (far k) in F. pose proof Rad_pos. pose proof room_pos. pose proof Cap_pos.
  pose proof (smooth_phi t p0 (ascent k) (TU t Ht) Z0 Zk) as S.
  assert (S1 : norm_of m (less (B t (ascent k)) (B t p0)) <= l * far k).
  { apply norm_below; [nra |]. rewrite Rpow_mult_distr. unfold far. rewrite to_square. exact S. }
  pose proof (norm_along m (less (B t (ascent k)) (B t p0)) (B t p0) 1) as N.
  rewrite Rabs_R1, Rmult_1_l in N.
  assert (E : along (less (B t (ascent k)) (B t p0)) (B t p0) 1 = B t (ascent k)).
  { apply functional_extensionality. intros. unfold along, less. ring. }
  rewrite E in N. assert (far k <= Rad + room).
  { assert (Rad * (s * l) <= room); [| lra]. assert (0 <= s * Cap) by (apply Rmult_le_pos; lra).
    lra. }
  assert (l * far k <= l * (Rad + room)) by (apply Rmult_le_compat_l; lra). unfold Cap. lra.
Qed.

Lemma path_holds : forall k, path k.
Proof.
  pose proof Rad_pos as R0. pose proof room_pos as Hr. pose proof Cap_pos as C0.
  assert (sl0 : 0 < s * l) by nra.
  induction k as [| k [I1 [I2 [I3 I4]]]].
  - assert (Z0 : far 0 = 0).
    { unfold far, norm_of. simpl. fold (square_of_norm m (less p0 p0)). rewrite less_self. apply sqrt_0. }
    split; [rewrite Z0; right; ring |]. split; [apply start_in_Z |]. split; [simpl; lra |].
    rewrite Z0. apply Rmult_le_pos; lra.
  - pose proof (slope_below_cap k I2 I4) as NB. set (b := B t (ascent k)) in *.
    set (N := norm_of m b) in *. assert (N0 : 0 <= N) by apply norm_pos.
    assert (Rm : Rad * (1 + s * l) + s * Cap <= Rad + room) by lra.
    assert (Seg : forall r, 0 <= r <= 1 -> Z (along (ascent k) (fun i => s * b i) r)).
    { intros r Hrr. rewrite along_scaled. apply in_Z.
      pose proof (norm_along m (less (ascent k) p0) b (r * s)) as Q.
      assert (E : along (less (ascent k) p0) b (r * s) = less (along (ascent k) b (r * s)) p0).
      { apply functional_extensionality. intros. unfold along, less. ring. }
      rewrite E in Q. fold (far k) in Q. fold N in Q. rewrite Rabs_pos_eq in Q by nra.
      assert (r * s * N <= s * Cap).
      { apply Rle_trans with (1 * s * N); [| nra]. repeat apply Rmult_le_compat_r; lra. }
      lra. }
    pose proof (f_along_phi t (ascent k) _ (TU t Ht) Seg) as F.
    rewrite dot_scaled, norm2_scaled, along_scaled, Rmult_1_l in F. fold b in F.
    change (along (ascent k) b s) with (ascent (S k)) in F.
    assert (E1 : dot m constant_one b b = N ^ 2) by (symmetry; apply norm_squared).
    assert (E2 : square_of_norm m b = N ^ 2) by exact E1. rewrite E1, E2 in F.
    pose proof (PL t (ascent k) (TU t Ht) I2) as Q. fold b in Q. rewrite E2 in Q.
    pose proof (gap_nonneg _ I2) as G0. fold (gap k) in G0, Q.
    assert (Zn : Z (ascent (S k))).
    { pose proof (Seg 1 ltac:(lra)) as X. rewrite along_scaled, Rmult_1_l in X. exact X. }
    pose proof (gap_nonneg _ Zn) as G1. fold (gap (S k)) in G1.
    assert (De : gap (S k) <= gap k - s * (1 - s * l / 2) * N ^ 2).
    { unfold gap. replace (s * (1 - s * l / 2) * N ^ 2) with (s * N ^ 2 - l / 2 * (s ^ 2 * N ^ 2))
        by field. lra. }
    set (h := 1 - s * l / 2) in *. assert (Hh : 1 / 2 <= h) by (unfold h; lra).
    assert (root_k : root k ^ 2 = gap k) by (apply pow2_sqrt; auto).
    assert (root_n : root (S k) ^ 2 = gap (S k)) by (apply pow2_sqrt; auto).
    assert (rk0 : 0 <= root k) by apply sqrt_pos. assert (rn0 : 0 <= root (S k)) by apply sqrt_pos.
    assert (sN : 0 <= s * h * N ^ 2).
    { apply Rmult_le_pos; [apply Rmult_le_pos; lra | apply pow2_ge_0]. }
    (* h s N <= sqrt (2 / mu) (root k - root (k + 1)) *)
    assert (Move : h * (s * N) <= sqrt (2 / mu_2) * (root k - root (S k))).
    { assert (M2 : sqrt (2 / mu_2) ^ 2 = 2 / mu_2)
        by (apply pow2_sqrt; left; apply Rdiv_lt_0_compat; lra).
      assert (M0 : 0 < sqrt (2 / mu_2)) by (apply sqrt_lt_R0; apply Rdiv_lt_0_compat; lra).
      set (z := sqrt (2 / mu_2)) in *.
      assert (Nz : 2 * root k <= z * N).
      { apply below_root; [apply Rmult_le_pos; lra |]. rewrite !Rpow_mult_distr, M2, root_k.
        apply Rmult_le_reg_l with (mu_2 / 2); [lra |].
        replace (mu_2 / 2 * (2 / mu_2 * N ^ 2)) with (N ^ 2) by (field; lra). lra. }
      destruct (Req_dec (root k) 0) as [Zr | Zr].
      - assert (Zk : gap k = 0) by (rewrite <- root_k, Zr; ring).
        assert (Zs : gap (S k) = 0) by lra. assert (ZN : s * h * N ^ 2 = 0) by lra.
        assert (Zt : root (S k) = 0) by (unfold root; rewrite Zs; apply sqrt_0).
        assert (sh : 0 < s * h) by nra. assert (N2 : N ^ 2 = 0) by nra. assert (Nz0 : N = 0) by nra.
        rewrite Nz0, Zr, Zt. lra.
      - assert (rk : 0 < root k) by lra.
        assert (X : s * h * N * (2 * root k) <= z * (s * h * N ^ 2)).
        { replace (z * (s * h * N ^ 2)) with (s * h * N * (z * N)) by ring.
          apply Rmult_le_compat_l; [| auto]. apply Rmult_le_pos; [apply Rmult_le_pos |]; lra. }
        assert (Y : z * (s * h * N ^ 2) <= z * (2 * root k * (root k - root (S k)))).
        { apply Rmult_le_compat_l; [lra |].
          assert (root (S k) <= root k) by (apply below_root; nra).
          pose proof (pow2_ge_0 (root k - root (S k))). lra. }
        apply Rmult_le_reg_l with (2 * root k); [lra |]. lra. }
    assert (Fn : far (S k) <= far k + s * N).
    { pose proof (norm_along m (less (ascent k) p0) b s) as Q2.
      assert (E : along (less (ascent k) p0) b s = less (ascent (S k)) p0).
      { apply functional_extensionality. intros. unfold less. simpl. unfold along. fold b. ring. }
      rewrite E, Rabs_pos_eq in Q2 by lra. exact Q2. }
    assert (J1 : h * far (S k) <= sqrt (2 / mu_2) * (root 0 - root (S k))).
    { assert (h * far (S k) <= h * (far k + s * N)) by (apply Rmult_le_compat_l; lra). lra. }
    split; [exact J1 |]. split; [exact Zn |]. split.
    + assert (D2 : gap (S k) <= (1 - mu_2 * s) * gap k).
      { assert (s * (mu_2 * gap k) <= s * h * N ^ 2); [| lra].
        replace (s * h * N ^ 2) with (s * (h * N ^ 2)) by ring. apply Rmult_le_compat_l; [lra |].
        assert (1 / 2 * N ^ 2 <= h * N ^ 2) by (apply Rmult_le_compat_r; [apply pow2_ge_0 | auto]). lra. }
      eapply Rle_trans; [exact D2 |]. simpl. rewrite Rmult_assoc.
      apply Rmult_le_compat_l; [| exact I3]. assert (mu_2 * s <= l * s) by (apply Rmult_le_compat_r; lra). lra.
    + apply far_below; auto.
Qed.

Lemma nearly : norm_of n (less (G t) (A t p0)) <= l * (Rad * (1 + s * l)).
Proof.
  pose proof Rad_pos as R0. pose proof room_pos as Hr. pose proof L_pos as HL.
  pose proof start_in_Z as Z0. pose proof (gap_nonneg p0 Z0) as G0.
  apply Rnot_lt_le. intros X.
  set (e := norm_of n (less (G t) (A t p0)) - l * (Rad * (1 + s * l))).
  assert (He : 0 < e) by (unfold e; lra).
  assert (q1 : 0 <= 1 - mu_2 * s < 1).
  { assert (mu_2 * s <= l * s) by (apply Rmult_le_compat_r; lra). assert (0 < mu_2 * s) by nra. lra. }
  set (aim := Rmin (e * room / 4) (e ^ 2 / (16 * L))).
  assert (Ha : 0 < aim).
  { apply Rmin_pos; [nra |]. apply Rdiv_lt_0_compat; [apply pow_lt; auto | lra]. }
  destruct (pow_lt_1_zero (1 - mu_2 * s) ltac:(rewrite Rabs_pos_eq; lra) (aim / (gap 0 + 1))) as [k Hk].
  { apply Rdiv_lt_0_compat; [auto |]. change (gap 0) with (g t - f t p0). lra. }
  specialize (Hk k (Nat.le_refl k)). rewrite Rabs_pos_eq in Hk by (apply pow_le; lra).
  destruct (path_holds k) as [_ [Zk [Gk Fk]]].
  assert (Small : gap k <= aim).
  { change (gap 0) with (g t - f t p0) in *. set (y := g t - f t p0) in *.
    apply Rle_trans with (aim / (y + 1) * y).
    - eapply Rle_trans; [exact Gk |]. apply Rmult_le_compat_r; lra.
    - apply Rmult_le_reg_r with (y + 1); [lra |].
      replace (aim / (y + 1) * y * (y + 1)) with (aim * y) by (field; lra). nra. }
  pose proof (crude t (ascent k) Ht Zk) as Cr. cbv zeta in Cr. fold (gap k) in Cr.
  pose proof (gap_nonneg _ Zk) as Gp. fold (gap k) in Gp.
  assert (C2 : norm_of n (less (G t) (A t (ascent k))) <= e / 2).
  { eapply Rle_trans; [exact Cr |]. apply Rmax_lub.
    - assert (gap k <= e * room / 4) by (eapply Rle_trans; [exact Small | apply Rmin_l]).
      apply Rmult_le_reg_r with room; [auto |].
      replace (2 * gap k / room * room) with (2 * gap k) by (field; lra). lra.
    - assert (gap k <= e ^ 2 / (16 * L)) by (eapply Rle_trans; [exact Small | apply Rmin_r]).
      apply below_root; [lra |]. rewrite pow2_sqrt by nra.
      apply Rmult_le_compat_l with (r := 4 * L) in H; [| lra].
      replace (4 * L * (e ^ 2 / (16 * L))) with ((e / 2) ^ 2) in H by (field; lra). exact H. }
  pose proof (cross_phi t p0 (ascent k) (TU t Ht) Z0 Zk) as Cx.
  pose proof (norm_pos m (less (ascent k) p0)) as F0. fold (far k) in F0.
  assert (C3 : norm_of n (less (A t (ascent k)) (A t p0)) <= l * far k).
  { apply norm_below; [nra |]. rewrite Rpow_mult_distr. unfold far. rewrite to_square. exact Cx. }
  assert (C4 : l * far k <= l * (Rad * (1 + s * l))) by (apply Rmult_le_compat_l; lra).
  pose proof (norm_along n (less (G t) (A t (ascent k))) (less (A t (ascent k)) (A t p0)) 1) as N.
  rewrite Rabs_R1, Rmult_1_l in N.
  assert (E : along (less (G t) (A t (ascent k))) (less (A t (ascent k)) (A t p0)) 1 =
    less (G t) (A t p0)).
  { apply functional_extensionality. intros. unfold along, less. ring. }
  rewrite E in N. unfold e in C2, He |- *. lra.
Qed.
End Ascent.

Lemma growth : forall t p, T t -> P p ->
  square_of_norm n (less (G t) (A t p)) <= 2 * l ^ 2 / mu_2 * (g t - f t p).
Proof.
  intros t p Ht Hp. pose proof En as [Hr _].
  set (Rad := sqrt (2 * (g t - f t p) / mu_2)). assert (R0 : 0 <= Rad) by apply sqrt_pos.
  pose proof (start_in_Z t p Ht Hp) as Z0. pose proof (gap_nonneg t Ht p Z0) as G0.
  set (Cap := norm_of m (B t p) + l * (Rad + room)).
  assert (C0 : 0 <= Cap) by apply (Cap_pos t p).
  assert (RL : 0 <= Rad * l) by (apply Rmult_le_pos; lra).
  assert (K : norm_of n (less (G t) (A t p)) <= l * Rad).
  { apply Rnot_lt_le. intros X. set (e := norm_of n (less (G t) (A t p)) - l * Rad).
    assert (He : 0 < e) by (unfold e; lra).
    set (s := Rmin (Rmin (1 / l) (room / (Rad * l + Cap + 1))) (e / (2 * (l * Rad * l + 1)))).
    assert (LR : 0 <= l * Rad * l) by nra.
    assert (Hs : 0 < s) by (repeat apply Rmin_pos; apply Rdiv_lt_0_compat; lra).
    assert (s1 : s <= 1 / l) by (eapply Rle_trans; [apply Rmin_l | apply Rmin_l]).
    assert (s2 : s <= room / (Rad * l + Cap + 1)) by (eapply Rle_trans; [apply Rmin_l | apply Rmin_r]).
    assert (s3 : s <= e / (2 * (l * Rad * l + 1))) by apply Rmin_r.
    assert (s1' : s * l <= 1).
    { apply Rmult_le_compat_r with (r := l) in s1; [| lra].
      replace (1 / l * l) with 1 in s1 by (field; lra). auto. }
    assert (s2' : s * (Rad * l + Cap) <= room).
    { apply Rmult_le_compat_r with (r := Rad * l + Cap + 1) in s2; [| lra].
      replace (room / (Rad * l + Cap + 1) * (Rad * l + Cap + 1)) with room in s2 by (field; lra). nra. }
    assert (s3' : s * (l * Rad * l) <= e / 2).
    { apply Rmult_le_compat_r with (r := l * Rad * l + 1) in s3; [| lra].
      replace (e / (2 * (l * Rad * l + 1)) * (l * Rad * l + 1)) with (e / 2) in s3 by (field; lra). nra. }
    pose proof (nearly t p s Ht Hp Hs s1' s2') as N. fold Rad in N. unfold e in *. nra. }
  rewrite <- to_square. pose proof (norm_pos n (less (G t) (A t p))) as N0.
  apply Rle_trans with ((l * Rad) ^ 2); [apply pow_incr; lra |].
  rewrite Rpow_mult_distr. unfold Rad. rewrite pow2_sqrt.
  - right. field. lra.
  - apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; auto].
Qed.
End Profile.

Theorem slope_of_profile_holds : slope_of_profile.
Proof.
  intros n m f A B g best U Z T P mu_2 l room Gr Sm PL At En Hl Hmu t p Ht.
  exact (slope_of_g_holds n m f A B g best U Z T P mu_2 l room Gr Sm PL At En Hl Hmu t p Ht).
Qed.

Theorem growth_in_phi_holds : growth_in_phi.
Proof.
  intros n m f A B g best U Z T P mu_2 l room Gr Sm PL At En CU CZ Hl TU t p Ht Hp.
  apply (growth n m f A B g best U Z T P mu_2 l room); auto; lra.
Qed.

(* --- means over outcomes *)
Lemma mean_affine : forall k p c0 c1 c2 c3 x y z,
  sum k (fun i => p i * (c0 + c1 * x i + c2 * y i + c3 * z i)) = c0 * sum k p +
  c1 * sum k (fun i => p i * x i) + c2 * sum k (fun i => p i * y i) + c3 * sum k (fun i => p i * z i).
Proof. induction k; intros; simpl; [ring |]. rewrite IHk. ring. Qed.

Lemma mean_dot : forall k n p (d : nat -> vector) x h,
  (forall e, (e < n)%nat -> sum k (fun i => p i * d i e) = h e) ->
  sum k (fun i => p i * dot n constant_one x (d i)) = dot n constant_one x h.
Proof.
  intros k n p d x h H. rewrite dot_sum.
  rewrite (sum_ext k _ (fun i => sum n (fun e => x e * (p i * d i e)))).
  - rewrite sum_swap. apply sum_ext. intros e He. rewrite sum_scal, H by auto.
    unfold constant_one. ring.
  - intros i _. rewrite dot_sum, <- sum_scal. apply sum_ext. intros. unfold constant_one. ring.
Qed.

Lemma norm2_less : forall n x y, square_of_norm n (less x y) =
  square_of_norm n x - 2 * dot n constant_one y x + square_of_norm n y.
Proof.
  intros. unfold square_of_norm. rewrite dot_less, (dot_sym n _ (less x y) x),
    (dot_sym n _ (less x y) y), !dot_less, (dot_sym n _ x y). ring.
Qed.

Lemma mean_norm2 : forall k n p (d : nat -> vector) h v, sum k p = 1 ->
  (forall e, (e < n)%nat -> sum k (fun i => p i * d i e) = h e) ->
  sum k (fun i => p i * square_of_norm n (less (d i) h)) <= v ->
  sum k (fun i => p i * square_of_norm n (d i)) <= square_of_norm n h + v.
Proof.
  intros k n p d h v H1 H V. pose proof (mean_dot k n p d h h H) as M.
  rewrite (sum_ext k _ (fun i => p i * (square_of_norm n h + -2 * dot n constant_one h (d i) +
    0 * 0 + 1 * square_of_norm n (d i)))) in V by (intros; rewrite norm2_less; ring).
  rewrite (mean_affine k p _ _ 0 1 (fun i => dot n constant_one h (d i)) (fun _ => 0)
    (fun i => square_of_norm n (d i))), M, H1 in V.
  change (dot n constant_one h h) with (square_of_norm n h) in V. lra.
Qed.

(* --- one step, in numbers: u = l^2 / mu_2, x = <grad g, grad_theta f>, r = ratio tau *)
Lemma numbers : forall a b GG X D x L l u q r tau mu_1 mu_2 s2,
  0 <= a -> 0 <= b -> 0 <= GG -> 0 <= X -> 0 <= D -> 0 < tau -> 0 < l -> 0 <= s2 -> 0 < mu_2 ->
  D = GG - 2 * x + X -> D <= 2 * u * b -> GG / 2 >= mu_1 * a -> X <= 2 * GG + 2 * D ->
  tau * L <= 1 -> tau * l <= 1 -> 0 < L -> q = 1 - 18 * u * tau -> 0 <= q -> 0 < u ->
  mu_1 <= 2 * u -> r = 18 * l ^ 2 / mu_2 ^ 2 * tau ->
  (1 + q / 10) * (a - tau * x + L / 2 * tau ^ 2 * (X + s2)) +
    q / 10 * (b - a + tau * X + l / 2 * tau ^ 2 * (X + s2)) + l / 2 * r ^ 2 * s2 / 10 <=
  (1 - mu_1 * tau / 2) * (a + b / 10) +
    tau ^ 2 * (s2 * (11 * L + l + 324 * l ^ 5 / mu_2 ^ 4) / 20).
Proof.
  intros a b GG X D x L l u q r tau mu_1 mu_2 s2 a0 b0 G0 X0 D0 t0 l0 s0 m0 ED Growth PL Tri tL tl L0
    Eq q0 u0 Mu Er.
  assert (q1 : q <= 1) by (assert (0 < u * tau) by nra; nra).
  assert (E1 : x = (GG + X - D) / 2) by lra.
  assert (T2L : tau ^ 2 * L <= tau) by nra. assert (T2l : tau ^ 2 * l <= tau) by nra.
  assert (A1 : - tau * x + L / 2 * tau ^ 2 * X <= tau / 2 * (D - GG)).
  { assert (tau ^ 2 * L * X <= tau * X) by (apply Rmult_le_compat_r; auto). rewrite E1. lra. }
  assert (A2 : tau * X + l / 2 * tau ^ 2 * X <= 3 * tau * (GG + D)).
  { assert (tau ^ 2 * l * X <= tau * X) by (apply Rmult_le_compat_r; auto).
    assert (tau * X <= tau * (2 * GG + 2 * D)) by (apply Rmult_le_compat_l; lra). lra. }
  assert (B1 : (1 + q / 10) * (- tau * x + L / 2 * tau ^ 2 * X) <=
    (1 + q / 10) * (tau / 2 * (D - GG))) by (apply Rmult_le_compat_l; lra).
  assert (B2 : q / 10 * (tau * X + l / 2 * tau ^ 2 * X) <= q / 10 * (3 * tau * (GG + D)))
    by (apply Rmult_le_compat_l; lra).
  assert (tG : 0 <= tau * GG) by (apply Rmult_le_pos; lra).
  assert (B3 : q * (tau * GG) <= 1 * (tau * GG)) by (apply Rmult_le_compat_r; auto).
  assert (tM : tau * GG >= tau * (2 * (mu_1 * a))) by (apply Rmult_ge_compat_l; lra).
  assert (c0 : 0 <= tau * (1 / 2 + 7 / 20 * q)) by (apply Rmult_le_pos; lra).
  assert (B4 : tau * (1 / 2 + 7 / 20 * q) * D <= tau * (1 / 2 + 7 / 20 * q) * (2 * u * b))
    by (apply Rmult_le_compat_l; auto).
  assert (utb : 0 <= u * tau * b) by (repeat apply Rmult_le_pos; lra).
  assert (B5 : q * (u * tau * b) <= 1 * (u * tau * b)) by (apply Rmult_le_compat_r; auto).
  assert (B6 : mu_1 * (tau * b) <= 2 * u * (tau * b))
    by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra | auto]).
  assert (Qb : q * b = b - 18 * (u * tau * b)) by (rewrite Eq; ring).
  (* the noise *)
  assert (n1 : 0 <= L * tau ^ 2 * s2) by (repeat apply Rmult_le_pos; try lra; apply pow2_ge_0).
  assert (n2 : 0 <= l * tau ^ 2 * s2) by (repeat apply Rmult_le_pos; try lra; apply pow2_ge_0).
  assert (N1 : q * (L * tau ^ 2 * s2) <= 1 * (L * tau ^ 2 * s2)) by (apply Rmult_le_compat_r; auto).
  assert (N2 : q * (l * tau ^ 2 * s2) <= 1 * (l * tau ^ 2 * s2)) by (apply Rmult_le_compat_r; auto).
  assert (N3 : l / 2 * r ^ 2 * s2 / 10 = tau ^ 2 * (s2 * (324 * l ^ 5 / mu_2 ^ 4) / 20))
    by (rewrite Er; field; lra).
  rewrite N3. unfold Rdiv in *. lra.
Qed.

(* --- the steps *)
Section Steps.
Variables (n m : nat) (f : vector -> vector -> R) (A B : vector -> vector -> vector).
Variables (g : vector -> R) (best : vector -> vector) (U Z T P : set) (mu_1 mu_2 l room least : R).
Variables (k1 k2 : nat) (chance1 chance2 : vector) (draw1 draw2 : nat -> vector -> vector -> vector).
Variables (sigma : R) (tau : nat -> R) (theta0 phi0 : vector).
Let L := l + l ^ 2 / mu_2.
Let ratio := 18 * l ^ 2 / mu_2 ^ 2.
Local Notation Gg := (slope_of_g A best).
Hypothesis Gr : gradients n m f A B.
Hypothesis Sm : l_smooth n m A B U Z l.
Hypothesis PL : pl_in_phi m f B g U Z mu_2.
Hypothesis At : attained m f B g best U Z.
Hypothesis PLg : pl_of_g n A g best T mu_1 least.
Hypothesis En : enlarged n m f g T U P Z mu_2 room.
Hypotheses (CU : convex U) (CZ : convex Z).
Hypothesis Un1 : unbiased k1 n chance1 draw1 A T P sigma.
Hypothesis Un2 : unbiased k2 m chance2 draw2 B T P sigma.
Hypothesis Stay : iterates_stay k1 k2 draw1 draw2 ratio tau theta0 phi0 T P.
Hypotheses (Hmu : 0 < mu_2 <= l) (Hmu1 : 0 < mu_1 <= L).
Let W (t p : vector) := g t - least + (g t - f t p) / 10.
Let K := sigma ^ 2 * (11 * L + l + 324 * l ^ 5 / mu_2 ^ 4) / 20.

Lemma TU : forall t, T t -> U t.
Proof.
  intros t Ht. destruct En as [Hr [H _]]. specialize (H t (fun _ => 0) Ht).
  assert (E : along t (fun _ => 0) 1 = t)
    by (apply functional_extensionality; intros; unfold along; ring).
  rewrite E in H. apply H. unfold norm_of. rewrite dot_sum, (sum_ext n _ (fun _ => 0)), sum_const
    by (intros; ring). rewrite Rmult_0_r, sqrt_0. lra.
Qed.
Lemma PZ : forall t p, T t -> P p -> Z p.
Proof. intros t p Ht Hp. apply (start_in_Z n m f g U Z T P mu_2 room En t p Ht Hp). Qed.

Lemma outcome_exists : (0 < k2)%nat.
Proof. destruct Un2 as [_ [S _]]. destruct k2; [simpl in S; lra | lia]. Qed.

Lemma one_step_of_both : forall s t p, reached k1 k2 draw1 draw2 ratio tau theta0 phi0 s t p ->
  0 < tau s -> tau s * L <= 1 -> tau s * l <= 1 -> ratio * tau s * l <= 1 ->
  after_one k1 k2 chance1 chance2 draw1 draw2 ratio tau s W t p <=
  (1 - mu_1 * tau s / 2) * W t p + tau s ^ 2 * K.
Proof.
  intros s t p Re t0 tL tl rl. destruct (Stay s t p Re) as [Ht Hp].
  set (ta := tau s) in *. set (r := ratio * ta) in *.
  assert (l0 : 0 < l) by lra.
  assert (r0 : 0 < r).
  { unfold r, ratio. apply Rmult_lt_0_compat; [| auto]. apply Rdiv_lt_0_compat;
      [apply Rmult_lt_0_compat; [lra | apply pow_lt; lra] | apply pow_lt; lra]. }
  set (u := l ^ 2 / mu_2). assert (u0 : 0 < u) by (apply Rdiv_lt_0_compat; [apply pow_lt |]; lra).
  assert (lu : l <= u).
  { apply Rmult_le_reg_r with mu_2; [lra |]. unfold u. replace (l ^ 2 / mu_2 * mu_2) with (l * l)
      by (field; lra). apply Rmult_le_compat_l; lra. }
  assert (Lu : L = l + u) by reflexivity.
  set (q := 1 - r * mu_2).
  assert (q0 : 0 <= q) by (unfold q; assert (r * mu_2 <= r * l) by (apply Rmult_le_compat_l; lra); lra).
  assert (Eq : q = 1 - 18 * u * ta) by (unfold q, r, ratio, u; field; lra).
  destruct Un1 as [C1 [S1 D1]]. destruct (D1 t p Ht Hp) as [M1 V1].
  destruct Un2 as [C2 [S2 D2]].
  set (b := g t - f t p). set (a := g t - least).
  destruct (At t (TU t Ht)) as [_ [_ [_ Max]]]. pose proof (PZ t p Ht Hp) as Zp.
  pose proof (Max p Zp) as b0. destruct (PLg t Ht) as [Pl a0].
  (* after the step of theta *)
  set (x := fun i => dot n constant_one (Gg t) (draw1 i t p)).
  set (y := fun i => dot n constant_one (A t p) (draw1 i t p)).
  set (z := fun i => square_of_norm n (draw1 i t p)).
  assert (Each : forall i, (i < k1)%nat ->
    sum k2 (fun j => chance2 j * W (theta_next draw1 tau s t p i)
      (phi_next draw1 draw2 ratio tau s t p i j)) <=
    a + q / 10 * b + l / 2 * r ^ 2 * sigma ^ 2 / 10 + - (1 + q / 10) * ta * x i + q / 10 * ta * y i +
    ((1 + q / 10) * (L / 2 * ta ^ 2) + q / 10 * (l / 2 * ta ^ 2)) * z i).
  { intros i Hi. set (t' := theta_next draw1 tau s t p i).
    assert (In : forall j, (j < k2)%nat -> T t' /\ P (phi_next draw1 draw2 ratio tau s t p i j)).
    { intros j Hj. apply (Stay (S s)). apply after_step; auto. }
    destruct (In 0%nat outcome_exists) as [Ht' _]. pose proof (TU t' Ht') as Ut'.
    pose proof (PZ t' p Ht' Hp) as Zp'.
    set (d := fun e => - ta * draw1 i t p e).
    assert (Ed : along t d 1 = t') by (unfold d; rewrite along_scaled, Rmult_1_l; reflexivity).
    assert (HU : forall c, 0 <= c <= 1 -> U (along t d c)).
    { intros c Hc. apply CU; auto; [apply TU; auto | rewrite Ed; auto]. }
    pose proof (g_below n m f A B g best U Z mu_2 l Gr Sm PL At l0 (proj1 Hmu) t d HU) as g1.
    pose proof (f_along_theta n m f A B U Z l Gr Sm l0 t d p HU Zp) as [f1 _].
    rewrite Ed in g1, f1. unfold d in g1, f1. rewrite dot_scaled, norm2_scaled in g1, f1.
    fold L in g1. fold (x i) (z i) in g1. fold (y i) (z i) in f1.
    (* after the step of phi *)
    destruct (D2 t' p Ht' Hp) as [M2 V2].
    destruct (At t' Ut') as [_ [_ [_ Max']]]. pose proof (Max' p Zp') as b0'.
    pose proof (PL t' p Ut' Zp') as Pl2.
    set (BB := square_of_norm m (B t' p)) in *. assert (BB0 : 0 <= BB) by apply norm2_pos.
    assert (Mean : sum k2 (fun j => chance2 j * W t' (phi_next draw1 draw2 ratio tau s t p i j)) <=
      g t' - least + (q * (g t' - f t' p) + l / 2 * r ^ 2 * sigma ^ 2) / 10).
    { apply Rle_trans with (sum k2 (fun j => chance2 j * (g t' - least + (g t' - f t' p) / 10 +
        - (r / 10) * dot m constant_one (B t' p) (draw2 j t' p) +
        l / 20 * r ^ 2 * square_of_norm m (draw2 j t' p) + 0 * 0))).
      - apply sum_le. intros j Hj. apply Rmult_le_compat_l; [auto |]. unfold W.
        destruct (In j Hj) as [_ Pj]. pose proof (PZ t' _ Ht' Pj) as Zj.
        set (p' := phi_next draw1 draw2 ratio tau s t p i j) in *.
        set (e := fun c => r * draw2 j t' p c).
        assert (Ee : along p e 1 = p') by (unfold e; rewrite along_scaled, Rmult_1_l; reflexivity).
        assert (HZ : forall c, 0 <= c <= 1 -> Z (along p e c)).
        { intros c Hc. apply CZ; auto. rewrite Ee; auto. }
        pose proof (f_along_phi n m f A B U Z l Gr Sm l0 t' p e Ut' HZ) as [f2 _].
        rewrite Ee in f2. unfold e in f2. rewrite dot_scaled, norm2_scaled in f2. lra.
      - rewrite (mean_affine k2 chance2 _ _ _ 0 (fun j => dot m constant_one (B t' p) (draw2 j t' p))
          (fun j => square_of_norm m (draw2 j t' p)) (fun _ => 0)), S2.
        rewrite (mean_dot k2 m chance2 (fun j => draw2 j t' p) (B t' p) (B t' p) M2).
        pose proof (mean_norm2 k2 m chance2 (fun j => draw2 j t' p) (B t' p) _ S2 M2 V2) as N2.
        fold BB in N2. change (dot m constant_one (B t' p) (B t' p)) with BB.
        assert (l2 : 0 <= l / 20 * r ^ 2) by (apply Rmult_le_pos; [lra | apply pow2_ge_0]).
        apply Rmult_le_compat_l with (r := l / 20 * r ^ 2) in N2; [| auto].
        assert (R1 : r * (r * l) * BB <= r * 1 * BB).
        { apply Rmult_le_compat_r; [auto |]. apply Rmult_le_compat_l; lra. }
        assert (R2 : r * (BB / 2) >= r * (mu_2 * (g t' - f t' p))) by (apply Rmult_ge_compat_l; lra).
        unfold q. lra. }
    eapply Rle_trans; [exact Mean |].
    assert (Q1 : (1 + q / 10) * (g t') <= (1 + q / 10) * (g t + - ta * x i + L / 2 * ((- ta) ^ 2 * z i)))
      by (apply Rmult_le_compat_l; lra).
    assert (Q2 : q / 10 * (f t p + - ta * y i - l / 2 * ((- ta) ^ 2 * z i)) <= q / 10 * f t' p)
      by (apply Rmult_le_compat_l; lra).
    unfold a, b. lra. }
  unfold after_one.
  apply Rle_trans with (sum k1 (fun i => chance1 i * (a + q / 10 * b +
    l / 2 * r ^ 2 * sigma ^ 2 / 10 + - (1 + q / 10) * ta * x i + q / 10 * ta * y i +
    ((1 + q / 10) * (L / 2 * ta ^ 2) + q / 10 * (l / 2 * ta ^ 2)) * z i))).
  { apply sum_le. intros i Hi. apply Rmult_le_compat_l; auto. }
  rewrite mean_affine, S1. unfold x, y, z.
  rewrite (mean_dot k1 n chance1 (fun i => draw1 i t p) (Gg t) (A t p) M1).
  rewrite (mean_dot k1 n chance1 (fun i => draw1 i t p) (A t p) (A t p) M1).
  pose proof (mean_norm2 k1 n chance1 (fun i => draw1 i t p) (A t p) _ S1 M1 V1) as N1.
  set (X := square_of_norm n (A t p)) in *. change (dot n constant_one (A t p) (A t p)) with X.
  assert (X0 : 0 <= X) by apply norm2_pos.
  set (GG := square_of_norm n (Gg t)) in *. assert (GG0 : 0 <= GG) by apply norm2_pos.
  set (xx := dot n constant_one (Gg t) (A t p)).
  set (D := square_of_norm n (less (Gg t) (A t p))). assert (D0 : 0 <= D) by apply norm2_pos.
  assert (ED : D = GG - 2 * xx + X).
  { unfold D. rewrite norm2_less, (dot_sym n _ (A t p)). reflexivity. }
  pose proof (growth n m f A B g best U Z T P mu_2 l room Gr Sm PL At En l0 (proj1 Hmu) (proj2 Hmu) TU
    t p Ht Hp) as Gw. fold D in Gw.
  assert (Gw' : D <= 2 * u * b) by (unfold u, b; replace (2 * (l ^ 2 / mu_2)) with (2 * l ^ 2 / mu_2)
    by (field; lra); exact Gw).
  assert (Tri : X <= 2 * GG + 2 * D).
  { pose proof (norm2_pos n (along (A t p) (Gg t) (-2))) as Sq. unfold square_of_norm in Sq.
    rewrite dot_along, (dot_sym n _ (along _ _ _) (A t p)), (dot_sym n _ (along _ _ _) (Gg t)),
      !dot_along, (dot_sym n _ (A t p) (Gg t)) in Sq. fold xx in Sq.
    change (dot n constant_one (A t p) (A t p)) with X in Sq.
    change (dot n constant_one (Gg t) (Gg t)) with GG in Sq. lra. }
  assert (c3 : 0 <= (1 + q / 10) * (L / 2 * ta ^ 2) + q / 10 * (l / 2 * ta ^ 2)).
  { pose proof (pow2_ge_0 ta). assert (0 < L) by lra.
    assert (0 <= L / 2 * ta ^ 2) by (apply Rmult_le_pos; lra).
    assert (0 <= l / 2 * ta ^ 2) by (apply Rmult_le_pos; lra).
    apply Rplus_le_le_0_compat; apply Rmult_le_pos; lra. }
  apply Rmult_le_compat_l with (2 := N1) in c3.
  assert (tL' : ta * L <= 1) by lra. assert (tl' : ta * l <= 1) by lra. assert (L0 : 0 < L) by lra.
  pose proof (numbers a b GG X D xx L l u q r ta mu_1 mu_2 (sigma ^ 2) ltac:(unfold a; lra)
    ltac:(unfold b; lra) GG0 X0 D0 t0 l0 (pow2_ge_0 sigma) (proj1 Hmu) ED Gw' Pl Tri tL' tl' L0 Eq q0 u0
    ltac:(lra) eq_refl) as Fin.
  unfold W. fold a b. fold K in Fin. lra.
Qed.
End Steps.

(* --- expectations *)
Section Expectation.
Variables (k1 k2 : nat) (chance1 chance2 : vector) (draw1 draw2 : nat -> vector -> vector -> vector).
Variables (ratio : R) (tau : nat -> R) (theta0 phi0 : vector).
Local Notation E := (expected k1 k2 chance1 chance2 draw1 draw2 ratio tau theta0 phi0).
Local Notation One := (after_one k1 k2 chance1 chance2 draw1 draw2 ratio tau).
Local Notation Reached := (reached k1 k2 draw1 draw2 ratio tau theta0 phi0).
Hypotheses (C1 : forall i, 0 <= chance1 i) (C2 : forall j, 0 <= chance2 j).
Hypotheses (S1 : sum k1 chance1 = 1) (S2 : sum k2 chance2 = 1).

Lemma expected_le : forall s h h', (forall t p, Reached s t p -> h t p <= h' t p) -> E s h <= E s h'.
Proof.
  induction s; intros h h' H; simpl; [apply H; apply at_start |]. apply IHs. intros t p Re.
  unfold after_one. apply sum_le. intros i Hi. apply Rmult_le_compat_l; [auto |].
  apply sum_le. intros j Hj. apply Rmult_le_compat_l; [auto |]. apply H. apply after_step; auto.
Qed.

Lemma one_affine : forall s h c d, One s (fun t p => c * h t p + d) =
  (fun t p => c * One s h t p + d).
Proof.
  intros s h c d. apply functional_extensionality. intros t. apply functional_extensionality. intros p.
  unfold after_one.
  rewrite (sum_ext k1 _ (fun i => chance1 i * (d + c * sum k2 (fun j => chance2 j *
    h (theta_next draw1 tau s t p i) (phi_next draw1 draw2 ratio tau s t p i j)) + 0 * 0 + 0 * 0))).
  - rewrite (mean_affine k1 chance1 d c 0 0 _ (fun _ => 0) (fun _ => 0)), S1. ring.
  - intros i _. f_equal.
    rewrite (sum_ext k2 _ (fun j => chance2 j * (d + c *
      h (theta_next draw1 tau s t p i) (phi_next draw1 draw2 ratio tau s t p i j) + 0 * 0 + 0 * 0)))
      by (intros; ring).
    rewrite (mean_affine k2 chance2 d c 0 0 _ (fun _ => 0) (fun _ => 0)), S2. ring.
Qed.

Lemma expected_affine : forall s h c d, E s (fun t p => c * h t p + d) = c * E s h + d.
Proof. induction s; intros; simpl; [auto |]. rewrite one_affine. apply IHs. Qed.

(* W falls by 1 - k / n and gains K / n^2 in a step, n = gamma + t *)
Lemma by_induction : forall W k K gamma nu, 1 < k -> k <= gamma -> gamma * W theta0 phi0 <= nu ->
  0 <= nu -> K <= (k - 1) * nu ->
  (forall s t p, Reached s t p -> let n := gamma + INR s in
    One s W t p <= (1 - k / n) * W t p + K / n ^ 2) ->
  forall s, E s W <= nu / (gamma + INR s).
Proof.
  intros W k K gamma nu Hk Hg H0 Hnu HK Step. induction s.
  - simpl. rewrite Rplus_0_r. apply Rmult_le_reg_l with gamma; [lra |].
    replace (gamma * (nu / gamma)) with nu by (field; lra). auto.
  - simpl expected. pose proof (pos_INR s) as P. set (n := gamma + INR s) in *.
    assert (Hn : k <= n) by (unfold n; lra).
    apply Rle_trans with (E s (fun t p => (1 - k / n) * W t p + K / n ^ 2)).
    { apply expected_le. intros t p Re. apply Step. auto. }
    rewrite expected_affine. assert (N : gamma + INR (S s) = n + 1) by (rewrite S_INR; unfold n; ring).
    rewrite N. assert (k0 : 0 <= 1 - k / n).
    { assert (k / n <= 1); [| lra]. apply Rmult_le_reg_r with n; [lra |].
      replace (k / n * n) with k by (field; lra). lra. }
    apply Rmult_le_compat_l with (r := 1 - k / n) in IHs; [| auto].
    apply Rle_trans with ((1 - k / n) * (nu / n) + (k - 1) * nu / n ^ 2).
    + apply Rplus_le_compat; [exact IHs |]. unfold Rdiv. apply Rmult_le_compat_r; [| auto].
      left. apply Rinv_0_lt_compat. apply pow_lt. lra.
    + replace ((1 - k / n) * (nu / n) + (k - 1) * nu / n ^ 2) with (nu * ((n - 1) / n ^ 2))
        by (field; lra).
      replace (nu / (n + 1)) with (nu * (/ (n + 1))) by reflexivity.
      assert (F : (n - 1) / n ^ 2 <= / (n + 1)).
      { apply Rmult_le_reg_r with (n ^ 2 * (n + 1)); [apply Rmult_lt_0_compat; [apply pow_lt |]; lra |].
        replace ((n - 1) / n ^ 2 * (n ^ 2 * (n + 1))) with ((n - 1) * (n + 1)) by (field; lra).
        replace (/ (n + 1) * (n ^ 2 * (n + 1))) with (n ^ 2) by (field; lra). nra. }
      apply Rmult_le_compat_l; auto.
Qed.
End Expectation.

Theorem theorem_12_of_the_paper_holds : theorem_12_of_the_paper.
Proof.
  intros n m f A B g best U Z T P mu_1 mu_2 l room least k1 k2 chance1 chance2 draw1 draw2 sigma c
    gamma theta0 phi0 L ratio tau Gr Sm PL At PLg En CU CZ Un1 Un2 Stay Hmu Hmu1 Hc Hgamma T1 T2 T3 W
    nu t.
  assert (L0 : 0 < L) by lra. assert (l0 : 0 < l) by lra.
  assert (c0 : 0 < c) by (assert (0 < 2 / mu_1) by (apply Rdiv_lt_0_compat; lra); lra).
  assert (Hk : 1 < mu_1 * c / 2).
  { apply Rmult_gt_compat_l with (r := mu_1) in Hc; [| lra].
    replace (mu_1 * (2 / mu_1)) with 2 in Hc by (field; lra). lra. }
  assert (r0 : 0 < ratio).
  { unfold ratio. apply Rdiv_lt_0_compat;
      [apply Rmult_lt_0_compat; [lra | apply pow_lt; lra] | apply pow_lt; lra]. }
  assert (Over : forall x y, 0 < y -> x <= 1 / y -> x * y <= 1).
  { intros x y Hy H. apply Rmult_le_compat_r with (r := y) in H; [| lra].
    replace (1 / y * y) with 1 in H by (field; lra). auto. }
  apply Over in T1; auto. apply Over in T2; auto. apply Over in T3; auto.
  assert (tau0 : tau 0%nat = c / gamma) by (unfold tau; simpl; rewrite Rplus_0_r; auto).
  assert (Falls : forall s, 0 < tau s <= tau 0%nat).
  { intros s. pose proof (pos_INR s). rewrite tau0. unfold tau. split; [apply Rdiv_lt_0_compat; lra |].
    unfold Rdiv. apply Rmult_le_compat_l; [lra |]. apply Rinv_le_contravar; lra. }
  assert (Hg : mu_1 * c / 2 <= gamma).
  { rewrite tau0 in T1. apply Rmult_le_compat_r with (r := gamma) in T1; [| lra].
    replace (c / gamma * L * gamma) with (c * L) in T1 by (field; lra).
    assert (c * mu_1 <= c * L) by (apply Rmult_le_compat_l; lra). lra. }
  set (K := c ^ 2 * (sigma ^ 2 * (11 * L + l + 324 * l ^ 5 / mu_2 ^ 4) / 20)).
  assert (K0 : 0 <= K).
  { unfold K. apply Rmult_le_pos; [apply pow2_ge_0 |].
    assert (0 <= 324 * l ^ 5 / mu_2 ^ 4).
    { apply Rmult_le_pos; [assert (0 < l ^ 5) by (apply pow_lt; auto); lra |].
      left. apply Rinv_0_lt_compat. apply pow_lt. lra. }
    assert (0 <= sigma ^ 2 * (11 * L + l + 324 * l ^ 5 / mu_2 ^ 4))
      by (apply Rmult_le_pos; [apply pow2_ge_0 | lra]). lra. }
  assert (Kn : K / (mu_1 * c / 2 - 1) <= nu).
  { unfold nu. eapply Rle_trans; [| apply Rmax_r]. right. unfold K. field. split; [lra |]. split; lra. }
  assert (Kn' : K <= (mu_1 * c / 2 - 1) * nu).
  { apply Rmult_le_compat_l with (r := mu_1 * c / 2 - 1) in Kn; [| lra].
    replace ((mu_1 * c / 2 - 1) * (K / (mu_1 * c / 2 - 1))) with K in Kn by (field; lra). auto. }
  assert (nu0 : 0 <= nu).
  { eapply Rle_trans; [| exact Kn]. unfold Rdiv at 1. apply Rmult_le_pos; [auto |].
    left. apply Rinv_0_lt_compat. lra. }
  assert (C1 := proj1 Un1). assert (S1 := proj1 (proj2 Un1)).
  assert (C2 := proj1 Un2). assert (S2 := proj1 (proj2 Un2)).
  apply (by_induction k1 k2 chance1 chance2 draw1 draw2 ratio tau theta0 phi0 C1 C2 S1 S2 W
    (mu_1 * c / 2) K gamma nu); auto; [apply Rmax_l |].
  intros s th ph Re N. pose proof (pos_INR s). destruct (Falls s) as [t0 t1].
  pose proof (one_step_of_both n m f A B g best U Z T P mu_1 mu_2 l room least k1 k2 chance1 chance2
    draw1 draw2 sigma tau theta0 phi0 Gr Sm PL At PLg En CU CZ Un1 Un2 Stay Hmu Hmu1 s th ph Re t0) as O.
  assert (X1 : tau s * L <= 1) by (assert (tau s * L <= tau 0%nat * L) by (apply Rmult_le_compat_r; lra); lra).
  assert (X2 : tau s * l <= 1) by (assert (tau s * l <= tau 0%nat * l) by (apply Rmult_le_compat_r; lra); lra).
  assert (X3 : ratio * tau s * l <= 1).
  { assert (ratio * l * tau s <= ratio * l * tau 0%nat)
      by (apply Rmult_le_compat_l; [apply Rmult_le_pos; lra | auto]). lra. }
  specialize (O X1 X2 X3). eapply Rle_trans; [exact O |]. right. fold L. unfold K, tau, N.
  fold (W th ph). field. split; lra.
Qed.

Print Assumptions slope_of_profile_holds.
Print Assumptions growth_in_phi_holds.
Print Assumptions theorem_12_of_the_paper_holds.
