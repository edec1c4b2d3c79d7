(* Theorems 5 and 6 of corrected.md: descent in q with zeta exact, and descent in q and ascent in
   zeta with two constant steps. They are stated for any profile g and any v with the properties
   named. That the g and v of the paper have them is proved in the files that follow. *)
Require Import Reals Lra Lia Psatz FunctionalExtensionality vectors.
Open Scope R_scope.

Section Setting.
Variables (n m : nat) (w b : vector) (beta : R).
Variables (g : vector -> R) (v : vector -> vector).

(* f of the min-max problem: its profile g, less the correction for zeta off v(q) = P V_q. *)
Definition objective (q z : vector) :=
  g q - beta ^ 2 * dot m b (less z (v q)) (less z (v q)).

Definition weights := (forall i, 0 <= w i) /\ (forall j, 0 <= b j).

(* G is the gradient of g, A that of v along p, F that of f(., z), in the metric w of visits. *)
Definition gradient_of_g (G : vector -> vector) := forall q p s,
  derivable_pt_lim (fun s => g (along q p s)) s (dot n w (G (along q p s)) p).
Definition derivative_of_v (A : vector -> vector -> vector) := forall q p j s,
  derivable_pt_lim (fun s => v (along q p s) j) s (A (along q p s) p j).
Definition gradient_of_f (F : vector -> vector -> vector) := forall q z p,
  derivable_pt_lim (fun s => objective (along q p s) z) 0 (dot n w (F q z) p).
Definition bounded_by (nu : R) (A : vector -> vector -> vector) := forall q p,
  dot m b (A q p) (A q p) <= nu ^ 2 * dot n w p p.

(* On the sublevel set: smoothness along segments that stay in it, and PL. *)
Definition smooth (L level : R) (G : vector -> vector) := forall q p,
  (forall s, 0 <= s <= 1 -> g (along q p s) <= level) ->
  dot n w (less (G (along q p 1)) (G q)) (less (G (along q p 1)) (G q)) <= L ^ 2 * dot n w p p.
Definition pl (c least level : R) (G : vector -> vector) := forall q,
  g q <= level -> dot n w (G q) (G q) / 2 >= c * (g q - least).

(* The step, and what falls. *)
Definition next_q (tau : R) (F : vector -> vector -> vector) (q z : vector) :=
  along q (F q z) (- tau).
Definition next_z (rho : R) (q z : vector) : vector := fun j => z j + rho * (v q j - z j).
Definition lyapunov (least rho nu tau : R) (q z : vector) :=
  g q - least + rho / (8 * nu ^ 2 * tau) * dot m b (less z (v q)) (less z (v q)).
End Setting.

Definition two_time_scales := forall n m w b beta g v G A F least W L c nu rho tau,
  weights w b -> gradient_of_g n w g G -> derivative_of_v v A -> gradient_of_f n m w b beta g v F ->
  bounded_by n m w b nu A -> smooth n w g L (least + W) G -> pl n w g c least (least + W) G ->
  (forall q, least <= g q) ->
  0 <= beta -> 0 < nu -> 0 < rho <= 1 -> 0 < L -> 0 < tau ->
  tau <= 1 / L -> tau <= rho / (sqrt 48 * beta ^ 2 * nu ^ 2) \/ beta = 0 ->
  forall q z, lyapunov m b g v least rho nu tau q z <= W ->
  lyapunov m b g v least rho nu tau (next_q tau F q z) (next_z v rho (next_q tau F q z) z) <=
  (1 - Rmin (tau * c / 2) (rho / 2)) * lyapunov m b g v least rho nu tau q z.

Lemma below_root : forall x y, 0 <= y -> x ^ 2 <= y ^ 2 -> x <= y.
Proof. intros. destruct (Rle_lt_dec x y); auto. nra. Qed.

(* --- one variable *)
Lemma near : forall f x l eps, derivable_pt_lim f x l -> 0 < eps ->
  exists d, 0 < d /\ forall h, Rabs h < d -> Rabs (f (x + h) - f x) < eps.
Proof.
  intros f x l eps D He. destruct (D 1 ltac:(lra)) as [d0 H].
  assert (P : 0 < Rabs l + 1) by (pose proof (Rabs_pos l); lra).
  exists (Rmin d0 (eps / (Rabs l + 1))). split.
  - apply Rmin_pos; [apply cond_pos | apply Rdiv_lt_0_compat; lra].
  - intros h Hh. destruct (Req_dec h 0) as [Z | Z].
    { rewrite Z, Rplus_0_r, Rminus_diag_eq, Rabs_R0; auto. }
    assert (H1 : Rabs h < d0) by (eapply Rlt_le_trans; [exact Hh | apply Rmin_l]).
    assert (H2 : Rabs h < eps / (Rabs l + 1)) by (eapply Rlt_le_trans; [exact Hh | apply Rmin_r]).
    specialize (H h Z H1).
    assert (E : f (x + h) - f x = h * ((f (x + h) - f x) / h - l + l)) by (field; auto).
    rewrite E, Rabs_mult.
    pose proof (Rabs_triang ((f (x + h) - f x) / h - l) l).
    assert (E2 : eps / (Rabs l + 1) * (Rabs l + 1) = eps) by (field; lra).
    pose proof (Rabs_pos_lt h Z). nra.
Qed.

Lemma first_exit : forall phi phi' end_ level,
  (forall s, derivable_pt_lim phi s (phi' s)) -> 0 <= end_ -> phi 0 <= level -> level < phi end_ ->
  exists T, 0 <= T < end_ /\ (forall s, 0 <= s <= T -> phi s <= level) /\ level <= phi T /\
  forall eta, 0 < eta -> exists s, T < s < T + eta /\ level < phi s.
Proof.
  intros phi phi' e level D He H0 H1.
  set (E := fun t => 0 <= t <= e /\ forall s, 0 <= s <= t -> phi s <= level).
  assert (E0 : E 0). { split; [lra |]. intros s Hs. replace s with 0 by lra. auto. }
  destruct (completeness E) as [T [U V]].
  { exists e. intros t [Ht _]. lra. }
  { exists 0. exact E0. }
  assert (T0 : 0 <= T) by (apply U; exact E0).
  assert (Te : T <= e) by (apply V; intros t [Ht _]; lra).
  assert (Before : forall s, 0 <= s < T -> phi s <= level).
  { intros s Hs. destruct (Rle_lt_dec (phi s) level) as [| X]; auto. exfalso.
    assert (T <= s); [| lra]. apply V. intros t [Ht Hl].
    destruct (Rle_lt_dec t s); auto. specialize (Hl s ltac:(lra)). lra. }
  assert (At : phi T <= level).
  { destruct (Rle_lt_dec (phi T) level) as [| X]; auto. exfalso.
    destruct (Req_dec T 0) as [Z | Z]; [rewrite Z in X; lra |].
    destruct (near phi T (phi' T) (phi T - level) (D T) ltac:(lra)) as [d [Hd N]].
    set (h := Rmin (d / 2) (T / 2)).
    assert (h <= d / 2) by apply Rmin_l. assert (h <= T / 2) by apply Rmin_r.
    assert (0 < h) by (apply Rmin_pos; lra).
    specialize (N (- h)). rewrite Rabs_Ropp, Rabs_pos_eq in N by lra. specialize (N ltac:(lra)).
    apply Rabs_def2 in N. specialize (Before (T + - h) ltac:(lra)). lra. }
  assert (Upto : forall s, 0 <= s <= T -> phi s <= level).
  { intros s Hs. destruct (Req_dec s T) as [Z | Z]; [subst; auto | apply Before; lra]. }
  assert (Lt : T < e). { destruct (Req_dec T e) as [Z | Z]; [subst; lra | lra]. }
  assert (After : forall eta, 0 < eta -> exists s, T < s < T + eta /\ level < phi s).
  { intros eta Heta. apply Classical_Prop.NNPP. intros N.
    set (t := Rmin (T + eta / 2) e).
    assert (t <= T + eta / 2) by apply Rmin_l. assert (t <= e) by apply Rmin_r.
    assert (T < t) by (apply Rmin_glb_lt; lra).
    assert (t <= T); [| lra]. apply U. split; [lra |]. intros s Hs.
    destruct (Rle_lt_dec s T); [apply Upto; lra |].
    destruct (Rle_lt_dec (phi s) level) as [| X]; auto. exfalso. apply N. exists s. lra. }
  exists T. repeat split; auto.
  destruct (Rle_lt_dec level (phi T)) as [| X]; auto. exfalso.
  destruct (near phi T (phi' T) (level - phi T) (D T) ltac:(lra)) as [d [Hd N]].
  destruct (After d Hd) as [s [Hs Hl]]. specialize (N (s - T)).
  rewrite Rabs_pos_eq in N by lra. specialize (N ltac:(lra)).
  replace (T + (s - T)) with s in N by ring. apply Rabs_def2 in N. lra.
Qed.

(* --- the step *)
Section Proof.
Variables (n m : nat) (w b : vector) (beta : R) (g : vector -> R) (v : vector -> vector).
Variables (G : vector -> vector) (A F : vector -> vector -> vector).
Variables (least W L c nu rho tau : R) (q z : vector).
Hypothesis Wp : weights w b.
Hypothesis DG : gradient_of_g n w g G.
Hypothesis DA : derivative_of_v v A.
Hypothesis DF : gradient_of_f n m w b beta g v F.
Hypothesis Nu : bounded_by n m w b nu A.
Hypothesis Sm : smooth n w g L (least + W) G.
Hypothesis PL : pl n w g c least (least + W) G.
Hypothesis Least : forall q, least <= g q.
Hypotheses (Hbeta : 0 <= beta) (Hnu : 0 < nu) (Hrho : 0 < rho <= 1) (HL : 0 < L) (Htau : 0 < tau).
Hypothesis HtauL : tau * L <= 1.
Hypothesis H48 : 48 * (tau * beta ^ 2 * nu ^ 2) ^ 2 <= rho ^ 2.
Hypothesis Start : lyapunov m b g v least rho nu tau q z <= W.

Let delta := less z (v q).
Let Fq := F q z.
Let eps := less Fq (G q).
Let DD := dot m b delta delta.
Let GG := dot n w (G q) (G q).
Let EE := dot n w eps eps.
Let FF := dot n w Fq Fq.

Lemma dot_derivative : forall k wt (u : R -> vector) u' s,
  (forall j, derivable_pt_lim (fun s => u s j) s (u' j)) ->
  derivable_pt_lim (fun s => dot k wt (u s) (u s)) s (2 * dot k wt (u s) u').
Proof.
  induction k; intros wt u u' s H; simpl.
  - replace (2 * 0) with 0 by ring. apply derivable_pt_lim_const.
  - replace (2 * (dot k wt (u s) u' + wt k * u s k * u' k)) with
      (2 * dot k wt (u s) u' + ((0 * u s k + wt k * u' k) * u s k + wt k * u s k * u' k)) by ring.
    apply derivable_pt_lim_plus; [apply IHk; auto |].
    apply (derivable_pt_lim_mult (fun s => wt k * u s k) (fun s => u s k)); [| apply H].
    apply (derivable_pt_lim_mult (fun _ => wt k) (fun s => u s k));
      [apply derivable_pt_lim_const | apply H].
Qed.

Lemma dot_v_derivative : forall k wt u x p s,
  derivable_pt_lim (fun s => dot k wt u (v (along x p s))) s (dot k wt u (A (along x p s) p)).
Proof.
  induction k; intros; simpl.
  - apply derivable_pt_lim_const.
  - apply derivable_pt_lim_plus; [apply IHk |].
    replace (wt k * u k * A (along x p s) p k)
      with (0 * v (along x p s) k + wt k * u k * A (along x p s) p k) by ring.
    apply (derivable_pt_lim_mult (fun _ => wt k * u k) (fun s => v (along x p s) k));
      [apply derivable_pt_lim_const | apply DA].
Qed.

Lemma error_of_slope : forall p, dot n w eps p = 2 * beta ^ 2 * dot m b delta (A q p).
Proof.
  intros p. pose proof (DF q z p) as D1.
  assert (D2 : derivable_pt_lim (fun s => objective m b beta g v (along q p s) z) 0
    (dot n w (G q) p - beta ^ 2 * (2 * dot m b delta (fun j => 0 - A q p j)))).
  { unfold objective. pose proof (DG q p 0) as D3. rewrite along_0 in D3.
    apply derivable_pt_lim_minus; [exact D3 |].
    replace (beta ^ 2 * (2 * dot m b delta (fun j => 0 - A q p j))) with
      (0 * dot m b (less z (v (along q p 0))) (less z (v (along q p 0))) +
       beta ^ 2 * (2 * dot m b (less z (v (along q p 0))) (fun j => 0 - A q p j)))
      by (rewrite along_0; unfold delta; ring).
    apply (derivable_pt_lim_mult (fun _ => beta ^ 2)); [apply derivable_pt_lim_const |].
    apply (dot_derivative m b (fun s => less z (v (along q p s)))). intros j. unfold less.
    apply derivable_pt_lim_minus; [apply derivable_pt_lim_const |].
    pose proof (DA q p j 0) as D4. rewrite along_0 in D4. exact D4. }
  pose proof (uniqueness_limite _ _ _ _ D1 D2) as E.
  unfold eps. rewrite (dot_sym n w (less Fq (G q)) p), dot_less, (dot_sym n w p Fq),
    (dot_sym n w p (G q)). unfold Fq. rewrite E.
  rewrite (dot_ext m b delta (fun j => 0 - A q p j) delta (less (fun _ => 0) (A q p)));
    [| auto | intros; reflexivity]. rewrite dot_less.
  assert (Z : forall k wt x, dot k wt x (fun _ => 0) = 0).
  { induction k; intros; simpl; [reflexivity | rewrite IHk; ring]. }
  rewrite Z. ring.
Qed.

Lemma error_is_small : EE <= 4 * beta ^ 4 * nu ^ 2 * DD.
Proof.
  destruct Wp as [Hw Hb]. pose proof (dot_pos n w eps Hw) as P. fold EE in P.
  pose proof (dot_pos m b delta Hb) as P2. fold DD in P2.
  pose proof (error_of_slope eps) as E. fold EE in E.
  pose proof (cauchy m b delta (A q eps) Hb) as C. fold DD in C.
  pose proof (Nu q eps) as N. fold EE in N.
  assert (Q : EE ^ 2 <= (4 * beta ^ 4 * nu ^ 2 * DD) * EE).
  { rewrite E at 1. replace ((2 * beta ^ 2 * dot m b delta (A q eps)) ^ 2)
      with (4 * beta ^ 4 * dot m b delta (A q eps) ^ 2) by ring.
    assert (0 <= 4 * beta ^ 4) by (pose proof (pow2_ge_0 (beta ^ 2)); nra).
    apply Rle_trans with (4 * beta ^ 4 * (DD * (nu ^ 2 * EE))); [| right; ring].
    apply Rmult_le_compat_l; [auto |]. eapply Rle_trans; [exact C |].
    apply Rmult_le_compat_l; auto. }
  assert (K : 0 <= 4 * beta ^ 4 * nu ^ 2 * DD).
  { repeat apply Rmult_le_pos; try lra; auto; apply pow_le; lra. }
  set (k := 4 * beta ^ 4 * nu ^ 2 * DD) in *.
  destruct (Rle_lt_dec EE k); [auto | nra].
Qed.

Let phi (s : R) := g (along q Fq (- s)).
Let phi' (s : R) := - dot n w (G (along q Fq (- s))) Fq.

Lemma phi_derivative : forall s, derivable_pt_lim phi s (phi' s).
Proof.
  intros s. unfold phi, phi'.
  replace (- dot n w (G (along q Fq (- s))) Fq)
    with (dot n w (G (along q Fq (- s))) Fq * (- (1))) by ring.
  apply (derivable_pt_lim_comp (fun s => - s) (fun s => g (along q Fq s))).
  - apply derivable_pt_lim_opp. apply derivable_pt_lim_id.
  - apply DG.
Qed.

Lemma slope_of_F : FF - 2 * dot n w (G q) Fq + GG = EE.
Proof.
  unfold EE, eps. rewrite (dot_less n w (less Fq (G q)) Fq (G q)).
  rewrite (dot_sym n w (less Fq (G q)) Fq), (dot_sym n w (less Fq (G q)) (G q)), !dot_less.
  fold FF GG. rewrite (dot_sym n w Fq (G q)). ring.
Qed.

(* as long as the segment stays below the level *)
Lemma descent : forall t, 0 <= t <= tau -> (forall s, 0 <= s <= t -> phi s <= least + W) ->
  phi t <= phi 0 - t / 2 * GG + 2 * t * beta ^ 4 * nu ^ 2 * DD.
Proof.
  intros t Ht Hs. destruct Wp as [Hw Hb].
  assert (PF : 0 <= FF) by (apply dot_pos; auto).
  pose proof error_is_small as Er. pose proof slope_of_F as Po.
  destruct (Req_dec t 0) as [Z | Z]; [subst t; lra |].
  assert (Up : forall s, 0 <= s <= t -> phi' s - phi' 0 <= L * s * FF).
  { intros s Hst. unfold phi'. rewrite Ropp_0, along_0.
    set (p := fun i => - s * Fq i).
    assert (Seg : forall r, along q p r = along q Fq (- (r * s))).
    { intros r. apply functional_extensionality. intros i. unfold along, p. ring. }
    pose proof (Sm q p) as S1. rewrite Seg, Rmult_1_l in S1.
    assert (S2 : dot n w p p = s ^ 2 * FF).
    { unfold FF, p. clear. induction n; simpl; [ring |]. rewrite IHn0. ring. }
    rewrite S2 in S1.
    assert (S3 : forall r, 0 <= r <= 1 -> g (along q p r) <= least + W).
    { intros r Hr. rewrite Seg. apply (Hs (r * s)). nra. }
    specialize (S1 S3). set (d := less (G (along q Fq (- s))) (G q)) in *.
    pose proof (cauchy n w d Fq Hw) as C. fold FF in C.
    assert (E : dot n w d Fq = dot n w (G (along q Fq (- s))) Fq - dot n w (G q) Fq).
    { unfold d. rewrite dot_sym, dot_less, (dot_sym n w Fq), (dot_sym n w Fq (G q)). ring. }
    assert (B : - dot n w d Fq <= L * s * FF); [| lra].
    apply below_root; [apply Rmult_le_pos; [nra | auto] |].
    replace ((- dot n w d Fq) ^ 2) with (dot n w d Fq ^ 2) by ring.
    eapply Rle_trans; [exact C |].
    replace ((L * s * FF) ^ 2) with (L ^ 2 * (s ^ 2 * FF) * FF) by ring.
    apply Rmult_le_compat_r; auto. }
  destruct (MVT_cor2 (fun s => phi s - (phi' 0 * s + L * FF / 2 * s ^ 2))
    (fun s => phi' s - (phi' 0 + L * FF * s)) 0 t ltac:(lra)) as [x [E Hx]].
  { intros s _. apply derivable_pt_lim_minus; [apply phi_derivative |].
    apply derivable_pt_lim_plus.
    - replace (phi' 0) with (0 * s + phi' 0 * 1) at 2 by ring.
      apply (derivable_pt_lim_mult (fun _ => phi' 0) (fun s => s));
        [apply derivable_pt_lim_const | apply derivable_pt_lim_id].
    - replace (L * FF * s) with (0 * s ^ 2 + L * FF / 2 * (INR 2 * s ^ 1)) by (simpl; field).
      apply (derivable_pt_lim_mult (fun _ => L * FF / 2) (fun s => s ^ 2));
        [apply derivable_pt_lim_const | apply derivable_pt_lim_pow]. }
  assert (N : (phi' x - (phi' 0 + L * FF * x)) * (t - 0) <= 0).
  { pose proof (Up x ltac:(lra)). nra. }
  assert (P0 : phi' 0 = - dot n w (G q) Fq) by (unfold phi'; rewrite Ropp_0, along_0; auto).
  rewrite P0 in E, N.
  assert (Q : L * FF / 2 * t ^ 2 <= t / 2 * FF).
  { replace (L * FF / 2 * t ^ 2) with (t / 2 * FF * (L * t)) by field.
    rewrite <- (Rmult_1_r (t / 2 * FF)) at 2. apply Rmult_le_compat_l; nra. }
  assert (K : t / 2 * EE <= t / 2 * (4 * beta ^ 4 * nu ^ 2 * DD))
    by (apply Rmult_le_compat_l; lra).
  nra.
Qed.

Let omega := rho / (8 * nu ^ 2 * tau).

Lemma omega_pos : 0 < omega.
Proof.
  unfold omega. apply Rdiv_lt_0_compat; [lra |].
  assert (0 < nu ^ 2) by (apply pow_lt; auto). nra.
Qed.

Lemma error_below_omega : 3 * tau * beta ^ 4 * nu ^ 2 <= rho / 2 * omega.
Proof.
  unfold omega. assert (P : 0 < nu ^ 2) by (apply pow_lt; auto).
  apply Rmult_le_reg_r with (16 * nu ^ 2 * tau); [nra |].
  replace (rho / 2 * (rho / (8 * nu ^ 2 * tau)) * (16 * nu ^ 2 * tau)) with (rho ^ 2)
    by (field; split; lra).
  replace (3 * tau * beta ^ 4 * nu ^ 2 * (16 * nu ^ 2 * tau))
    with (48 * (tau * beta ^ 2 * nu ^ 2) ^ 2) by ring. exact H48.
Qed.

Lemma stays : forall s, 0 <= s <= tau -> phi s <= least + W.
Proof.
  intros e He. destruct (Rle_lt_dec (phi e) (least + W)) as [| X]; auto. exfalso.
  destruct Wp as [Hw Hb].
  assert (PD : 0 <= DD) by (apply dot_pos; auto).
  assert (PG : 0 <= GG) by (apply dot_pos; auto).
  pose proof omega_pos as PO. pose proof error_below_omega as EO.
  assert (P0 : phi 0 = g q) by (unfold phi; rewrite Ropp_0, along_0; auto).
  assert (S0 : phi 0 + omega * DD <= least + W).
  { rewrite P0. unfold lyapunov in Start. fold delta DD omega in Start. lra. }
  assert (PB : 0 <= beta ^ 4 * nu ^ 2).
  { apply Rmult_le_pos; [apply pow_le; auto | apply pow2_ge_0]. }
  destruct (first_exit phi phi' e (least + W) phi_derivative ltac:(lra)) as
    [T [HT [Upto [At After]]]]; [nra | auto |].
  pose proof (descent T ltac:(lra) Upto) as De.
  assert (Y : 2 * T * beta ^ 4 * nu ^ 2 * DD <= omega * DD * (1 / 3)).
  { replace (2 * T * beta ^ 4 * nu ^ 2 * DD) with (2 * T * (beta ^ 4 * nu ^ 2) * DD) by ring.
    assert (T * (beta ^ 4 * nu ^ 2) <= tau * (beta ^ 4 * nu ^ 2))
      by (apply Rmult_le_compat_r; lra).
    assert (rho / 2 * omega <= omega / 2) by nra.
    replace (omega * DD * (1 / 3)) with (omega * (1 / 3) * DD) by ring.
    apply Rmult_le_compat_r; [auto | lra]. }
  assert (Z1 : DD = 0). { destruct (Req_dec DD 0); auto. exfalso. assert (0 < omega * DD) by (apply Rmult_lt_0_compat; lra). nra. }
  assert (E0 : EE = 0).
  { pose proof error_is_small as Er. rewrite Z1 in Er. pose proof (dot_pos n w eps Hw).
    fold EE in H. lra. }
  pose proof slope_of_F as Po. rewrite E0 in Po.
  assert (CS : forall x, dot n w x eps = 0).
  { intros x. pose proof (cauchy n w x eps Hw) as C. fold EE in C. rewrite E0 in C.
    assert (0 <= dot n w x eps ^ 2) by apply pow2_ge_0.
    assert (dot n w x eps ^ 2 = 0) by lra. nra. }
  assert (GF : dot n w (G q) Fq = GG).
  { pose proof (CS (G q)) as C. unfold eps in C. rewrite dot_less in C. fold GG in C. lra. }
  destruct (Req_dec GG 0) as [Z2 | Z2].
  - assert (ZF : FF = 0) by lra.
    assert (Fl : forall s, phi' s = 0).
    { intros s. unfold phi'. pose proof (cauchy n w (G (along q Fq (- s))) Fq Hw) as C.
      fold FF in C. rewrite ZF in C.
      assert (0 <= dot n w (G (along q Fq (- s))) Fq ^ 2) by apply pow2_ge_0.
      assert (dot n w (G (along q Fq (- s))) Fq ^ 2 = 0) by lra. nra. }
    destruct (Req_dec e 0) as [Ze | Ze]; [subst e; nra |].
    destruct (MVT_cor2 phi phi' 0 e ltac:(lra)) as [x [Ex _]];
      [intros; apply phi_derivative |]. rewrite Fl in Ex. nra.
  - assert (T = 0). { destruct (Req_dec T 0); auto. exfalso. rewrite Z1 in De, S0.
      assert (0 < T / 2 * GG) by (apply Rmult_lt_0_compat; lra). lra. }
    subst T. assert (D0 : phi' 0 = - GG) by (unfold phi'; rewrite Ropp_0, along_0; lra).
    destruct (phi_derivative 0 GG ltac:(lra)) as [d Hd].
    destruct (After d (cond_pos d)) as [s [Hs Hl]].
    specialize (Hd s ltac:(lra)). rewrite Rabs_pos_eq in Hd by lra. specialize (Hd ltac:(lra)).
    rewrite Rplus_0_l, D0 in Hd. apply Rabs_def2 in Hd. rewrite Z1 in S0.
    assert (Qd : (phi s - phi 0) / s < 0) by lra.
    assert ((phi s - phi 0) = (phi s - phi 0) / s * s) by (field; lra). nra.
Qed.

Let qn := next_q tau F q z.
Let u := less (v qn) (v q).
Let UU := dot m b u u.

Lemma move_of_v : UU <= nu ^ 2 * (tau ^ 2 * FF).
Proof.
  destruct Wp as [Hw Hb]. assert (PU : 0 <= UU) by (apply dot_pos; auto).
  set (p := fun i => - tau * Fq i).
  assert (P1 : along q p 1 = qn).
  { apply functional_extensionality. intros i. unfold qn, next_q, along, p, Fq. ring. }
  assert (PP : dot n w p p = tau ^ 2 * FF).
  { unfold FF, p. clear. induction n; simpl; [ring |]. rewrite IHn0. ring. }
  destruct (MVT_cor2 (fun s => dot m b u (v (along q p s)))
    (fun s => dot m b u (A (along q p s) p)) 0 1 ltac:(lra)) as [x [E _]].
  { intros. apply dot_v_derivative. }
  rewrite P1, along_0 in E.
  assert (E2 : UU = dot m b u (A (along q p x) p)).
  { unfold UU at 1. unfold u at 2. rewrite dot_less. lra. }
  pose proof (cauchy m b u (A (along q p x) p) Hb) as C. fold UU in C. rewrite <- E2 in C.
  pose proof (Nu (along q p x) p) as N. rewrite PP in N.
  assert (PF : 0 <= FF) by (apply dot_pos; auto).
  assert (K : 0 <= nu ^ 2 * (tau ^ 2 * FF)).
  { apply Rmult_le_pos; [apply pow2_ge_0 |]. apply Rmult_le_pos; [apply pow2_ge_0 | auto]. }
  set (k := nu ^ 2 * (tau ^ 2 * FF)) in *.
  destruct (Rle_lt_dec UU k); [auto | nra].
Qed.

Lemma step : lyapunov m b g v least rho nu tau qn (next_z v rho qn z) <=
  (1 - Rmin (tau * c / 2) (rho / 2)) * lyapunov m b g v least rho nu tau q z.
Proof.
  destruct Wp as [Hw Hb].
  assert (PD : 0 <= DD) by (apply dot_pos; auto).
  assert (PG : 0 <= GG) by (apply dot_pos; auto).
  assert (PF : 0 <= FF) by (apply dot_pos; auto).
  pose proof omega_pos as PO. pose proof error_below_omega as EO.
  pose proof error_is_small as Er. pose proof slope_of_F as Po. pose proof move_of_v as Mo.
  assert (P0 : phi 0 = g q) by (unfold phi; rewrite Ropp_0, along_0; auto).
  assert (Pt : phi tau = g qn) by reflexivity.
  pose proof (descent tau ltac:(lra) (fun s Hs => stays s Hs)) as De. rewrite P0, Pt in De.
  assert (S0 : g q <= least + W) by (rewrite <- P0; apply stays; lra).
  pose proof (PL q S0) as Hpl. fold GG in Hpl. pose proof (Least q) as Gap.
  set (D' := dot m b (less (next_z v rho qn z) (v qn)) (less (next_z v rho qn z) (v qn))).
  assert (ED : D' = (1 - rho) ^ 2 * (DD - 2 * dot m b delta u + UU)).
  { assert (X : D' = dot m b (fun j => (1 - rho) * (less delta u j))
      (fun j => (1 - rho) * (less delta u j))).
    { apply dot_ext; intros j; unfold less, next_z, delta, u, less; ring. }
    rewrite X. assert (Sc : forall k wt x, dot k wt (fun j => (1 - rho) * x j)
      (fun j => (1 - rho) * x j) = (1 - rho) ^ 2 * dot k wt x x).
    { clear. induction k; intros; simpl; [ring | rewrite IHk; ring]. }
    rewrite (Sc m b (less delta u)), dot_less, (dot_sym m b (less delta u) delta),
      (dot_sym m b (less delta u) u), !dot_less. fold DD UU. rewrite (dot_sym m b u delta). ring. }
  assert (Yg : 0 <= rho ^ 2 * DD + 2 * (rho * (1 - rho)) * dot m b delta u + (1 - rho) ^ 2 * UU).
  { pose proof (dot_pos m b (fun j => rho * delta j + (1 - rho) * u j) Hb) as Q.
    assert (Sq : forall k wt x y, dot k wt (fun j => rho * x j + (1 - rho) * y j)
      (fun j => rho * x j + (1 - rho) * y j) = rho ^ 2 * dot k wt x x +
      2 * (rho * (1 - rho)) * dot k wt x y + (1 - rho) ^ 2 * dot k wt y y).
    { clear. induction k; intros; simpl; [ring | rewrite IHk; ring]. }
    rewrite Sq in Q. exact Q. }
  assert (PU : 0 <= UU) by (apply dot_pos; auto).
  (* |delta'|^2 <= (1 - rho) (|delta|^2 + |u|^2 / rho) *)
  assert (Sp : rho * D' <= (1 - rho) * (rho * DD + UU)).
  { rewrite ED. assert (0 <= (1 - rho) * (rho ^ 2 * DD + 2 * (rho * (1 - rho)) * dot m b delta u
      + (1 - rho) ^ 2 * UU)) by (apply Rmult_le_pos; lra).
    assert (0 <= (1 - rho) * (rho * UU)) by (repeat apply Rmult_le_pos; lra).
    set (x := dot m b delta u) in *. clearbody x.
    replace ((1 - rho) * (rho * DD + UU) ) with (rho * ((1 - rho) ^ 2 * (DD - 2 * x + UU)) +
      ((1 - rho) * (rho ^ 2 * DD + 2 * (rho * (1 - rho)) * x + (1 - rho) ^ 2 * UU) +
       (1 - rho) * (rho * UU) )) by ring.
    lra. }
  (* |u|^2 <= 2 nu^2 tau^2 (GG + 4 beta^4 nu^2 DD) *)
  assert (FE : FF <= 2 * (GG + EE)).
  { pose proof (dot_pos n w (fun i => 2 * G q i - Fq i) Hw) as Q.
    assert (Sq : forall k wt x y, dot k wt (fun j => 2 * x j - y j) (fun j => 2 * x j - y j)
      = 4 * dot k wt x x - 4 * dot k wt x y + dot k wt y y).
    { clear. induction k; intros; simpl; [ring | rewrite IHk; ring]. }
    rewrite Sq in Q. fold GG FF in Q. lra. }
  assert (UB : UU <= 2 * nu ^ 2 * tau ^ 2 * (GG + 4 * beta ^ 4 * nu ^ 2 * DD)).
  { eapply Rle_trans; [exact Mo |].
    replace (2 * nu ^ 2 * tau ^ 2 * (GG + 4 * beta ^ 4 * nu ^ 2 * DD)) with
      (nu ^ 2 * (tau ^ 2 * (2 * (GG + 4 * beta ^ 4 * nu ^ 2 * DD)))) by ring.
    apply Rmult_le_compat_l; [apply pow2_ge_0 |]. apply Rmult_le_compat_l; [apply pow2_ge_0 | lra]. }
  assert (NT : 0 < nu ^ 2 * tau) by (apply Rmult_lt_0_compat; [apply pow_lt; auto | auto]).
  assert (OU : omega * UU / rho <= tau / 4 * (GG + 4 * beta ^ 4 * nu ^ 2 * DD)).
  { apply Rle_trans with (omega * (2 * nu ^ 2 * tau ^ 2 * (GG + 4 * beta ^ 4 * nu ^ 2 * DD)) / rho).
    - unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra |].
      apply Rmult_le_compat_l; lra.
    - right. unfold omega. field. split; lra. }
  assert (OD : omega * D' <= (1 - rho) * (omega * DD) + (1 - rho) * (omega * UU / rho)).
  { apply Rmult_le_reg_r with rho; [lra |].
    replace (((1 - rho) * (omega * DD) + (1 - rho) * (omega * UU / rho)) * rho)
      with (omega * ((1 - rho) * (rho * DD + UU))) by (field; lra).
    replace (omega * D' * rho) with (omega * (rho * D')) by ring.
    apply Rmult_le_compat_l; lra. }
  assert (PB : 0 <= beta ^ 4 * nu ^ 2 * DD).
  { apply Rmult_le_pos; [apply Rmult_le_pos; [apply pow_le; auto | apply pow2_ge_0] | auto]. }
  assert (PU2 : 0 <= omega * UU / rho).
  { unfold Rdiv. apply Rmult_le_pos; [apply Rmult_le_pos; lra | left; apply Rinv_0_lt_compat; lra]. }
  assert (O1 : (1 - rho) * (omega * UU / rho) <= tau / 4 * (GG + 4 * beta ^ 4 * nu ^ 2 * DD)).
  { apply Rle_trans with (1 * (omega * UU / rho)); [apply Rmult_le_compat_r; lra | lra]. }
  assert (EO2 : 3 * tau * (beta ^ 4 * nu ^ 2 * DD) <= rho / 2 * (omega * DD)).
  { replace (3 * tau * (beta ^ 4 * nu ^ 2 * DD)) with (3 * tau * beta ^ 4 * nu ^ 2 * DD) by ring.
    replace (rho / 2 * (omega * DD)) with (rho / 2 * omega * DD) by ring.
    apply Rmult_le_compat_r; auto. }
  assert (TG : tau / 4 * GG >= tau * c / 2 * (g q - least)).
  { assert (tau / 2 * (GG / 2) >= tau / 2 * (c * (g q - least)))
      by (apply Rmult_ge_compat_l; lra). lra. }
  assert (Sum : g qn - least + omega * D' <=
    (1 - tau * c / 2) * (g q - least) + (1 - rho / 2) * (omega * DD)) by lra.
  unfold lyapunov. fold D' omega. fold delta DD.
  pose proof (Rmin_l (tau * c / 2) (rho / 2)). pose proof (Rmin_r (tau * c / 2) (rho / 2)).
  set (k := Rmin (tau * c / 2) (rho / 2)) in *.
  assert (0 <= omega * DD) by (apply Rmult_le_pos; lra).
  assert (k * (g q - least) <= tau * c / 2 * (g q - least)) by (apply Rmult_le_compat_r; lra).
  assert (k * (omega * DD) <= rho / 2 * (omega * DD)) by (apply Rmult_le_compat_r; lra).
  lra.
Qed.
End Proof.

Theorem two_time_scales_holds : two_time_scales.
Proof.
  intros n m w b beta g v G A F least W L c nu rho tau Wp DG DA DF Nu Sm PL Least Hb Hn Hr HL Ht
    HtL H48 q z Start.
  apply (step n m w b beta g v G A F least W L c nu rho tau q z Wp DG DA DF Nu Sm PL Least Hb Hn Hr
    HL Ht).
  - apply Rmult_le_reg_r with (/ L); [apply Rinv_0_lt_compat; auto |].
    replace (tau * L * / L) with tau by (field; lra). unfold Rdiv in HtL. lra.
  - destruct H48 as [H48 | Z].
    + destruct (Req_dec beta 0) as [Z | Z].
      { subst beta. replace (48 * (tau * 0 ^ 2 * nu ^ 2) ^ 2) with 0 by ring. apply pow2_ge_0. }
      assert (P : 0 < sqrt 48 * beta ^ 2 * nu ^ 2).
      { apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat |]; [apply sqrt_lt_R0; lra | |];
          apply pow_lt; lra. }
      assert (Q : tau * (sqrt 48 * beta ^ 2 * nu ^ 2) <= rho).
      { apply Rmult_le_reg_r with (/ (sqrt 48 * beta ^ 2 * nu ^ 2));
          [apply Rinv_0_lt_compat; auto |].
        rewrite Rmult_assoc, Rinv_r by lra. unfold Rdiv in H48. lra. }
      assert (S : sqrt 48 * sqrt 48 = 48) by (apply sqrt_sqrt; lra).
      assert (E : 48 * (tau * beta ^ 2 * nu ^ 2) ^ 2 = (tau * (sqrt 48 * beta ^ 2 * nu ^ 2)) ^ 2).
      { rewrite <- S at 1. ring. }
      rewrite E. apply pow_incr. split; [apply Rmult_le_pos; lra | auto].
    + subst beta. replace (48 * (tau * 0 ^ 2 * nu ^ 2) ^ 2) with 0 by ring. apply pow2_ge_0.
  - exact Start.
Qed.

(* --- Theorem 5 of corrected.md: zeta exact, steps 1 / L *)
Fixpoint iterate (L : R) (G : vector -> vector) (q : vector) (t : nat) : vector :=
  match t with
  | O => q
  | S k => along (iterate L G q k) (G (iterate L G q k)) (- (1 / L))
  end.

Definition zeta_exact := forall n w g G least L c q,
  (forall i, 0 <= w i) -> gradient_of_g n w g G -> smooth n w g L (g q) G ->
  pl n w g c least (g q) G -> (forall q, least <= g q) -> 0 < L ->
  forall t, g (iterate L G q t) - least <= (1 - c / L) ^ t * (g q - least).

Lemma one_step : forall n w g G least L c level q,
  (forall i, 0 <= w i) -> gradient_of_g n w g G -> smooth n w g L level G ->
  pl n w g c least level G -> (forall q, least <= g q) -> 0 < L -> g q <= level ->
  g (along q (G q) (- (1 / L))) <= g q /\
  g (along q (G q) (- (1 / L))) - least <= (1 - c / L) * (g q - least).
Proof.
  intros n w g G least L c level q Hw DG Sm PL Least HL H0.
  assert (Ht : 0 < 1 / L) by (apply Rdiv_lt_0_compat; lra).
  assert (HtL : 1 / L * L = 1) by (field; lra).
  set (v := fun (_ : vector) (_ : nat) => 0). set (A := fun (_ _ : vector) (_ : nat) => 0).
  set (F := fun (x _ : vector) => G x). set (z := fun _ : nat => 0).
  assert (Wp : weights w z) by (split; [auto | intros; unfold z; lra]).
  assert (DA : derivative_of_v v A) by (intros x p j s; apply derivable_pt_lim_const).
  assert (DF : gradient_of_f n 0 w z 0 g v F).
  { intros x y p. unfold objective, F. simpl.
    replace (dot n w (G x) p) with (dot n w (G (along x p 0)) p - 0)
      by (rewrite along_0; ring).
    apply derivable_pt_lim_minus; [apply DG |].
    replace 0 with (0 * 0 + 0 * (0 * 1) * 0) at 3 by ring.
    replace 0 with 0 at 1 by ring.
    assert (E : (fun _ : R => 0 * (0 * 1) * 0) = fct_cte 0)
      by (apply functional_extensionality; intros; unfold fct_cte; ring).
    rewrite E. replace (0 * 0 + 0 * (0 * 1) * 0) with 0 by ring. apply derivable_pt_lim_const. }
  assert (Nu : bounded_by n 0 w z 1 A).
  { intros x p. simpl. pose proof (dot_pos n w p Hw). lra. }
  assert (Ex : least + (level - least) = level) by ring.
  assert (St : lyapunov 0 z g v least 1 1 (1 / L) q z <= level - least)
    by (unfold lyapunov; simpl; lra).
  assert (H48 : 48 * (1 / L * 0 ^ 2 * 1 ^ 2) ^ 2 <= 1 ^ 2) by (simpl; lra).
  rewrite <- Ex in Sm, PL.
  assert (HL1 : 1 / L * L <= 1) by lra.
  pose proof (stays n 0 w z 0 g v G A F least (level - least) L 1 1 (1 / L) q z) as Stay.
  specialize (Stay Wp DG DA DF Nu Sm (Rle_refl 0) Rlt_0_1 ltac:(lra) HL Ht HL1 H48 St).
  pose proof (descent n 0 w z 0 g v G A F least (level - least) L 1 1 (1 / L) q z Wp DG DA DF Nu
    Sm (Rle_refl 0) Rlt_0_1 ltac:(lra) HL HL1 (1 / L) ltac:(lra)) as De.
  simpl in De, Stay. specialize (De Stay).
  unfold F in De. rewrite Ropp_0, along_0 in De.
  pose proof (PL q ltac:(lra)) as P. pose proof (dot_pos n w (G q) Hw) as Q.
  set (GG := dot n w (G q) (G q)) in *.
  assert (E1 : 0 <= 1 / L / 2 * GG) by (apply Rmult_le_pos; lra).
  assert (E2 : 1 / L * (GG / 2) >= 1 / L * (c * (g q - least))) by (apply Rmult_ge_compat_l; lra).
  assert (E3 : 1 / L * (c * (g q - least)) = c / L * (g q - least)) by (field; lra).
  split; lra.
Qed.

Theorem zeta_exact_holds : zeta_exact.
Proof.
  intros n w g G least L c q Hw DG Sm PL Least HL.
  assert (Below : forall t, g (iterate L G q t) <= g q).
  { induction t; simpl; [lra |].
    destruct (one_step n w g G least L c (g q) _ Hw DG Sm PL Least HL IHt). lra. }
  induction t; simpl; [lra |].
  destruct (one_step n w g G least L c (g q) _ Hw DG Sm PL Least HL (Below t)) as [_ S].
  destruct (Rle_lt_dec 0 (1 - c / L)) as [P | P].
  - eapply Rle_trans; [exact S |]. rewrite Rmult_assoc. apply Rmult_le_compat_l; auto.
  - destruct (one_step n w g G least L c (g q) q Hw DG Sm PL Least HL (Rle_refl _)) as [_ S0].
    pose proof (Least (along q (G q) (- (1 / L)))). pose proof (Least q).
    assert (Z : g q - least = 0) by nra. rewrite Z, Rmult_0_r.
    pose proof (Below t). pose proof (Least (iterate L G q t)).
    assert (Z2 : g (iterate L G q t) - least = 0) by lra. rewrite Z2 in S. lra.
Qed.

Print Assumptions two_time_scales_holds.
Print Assumptions zeta_exact_holds.
