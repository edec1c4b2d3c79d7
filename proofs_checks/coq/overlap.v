(* The paper's Lemma 27 for finitely many states, from the flow of the discounted occupancy: the anchor's
   next states have at most 1 / (beta p_A) times the mass of the states. *)
Require Import Reals Lra Lia Psatz vectors softmax.
Open Scope R_scope.

(* --- statement: X states, K actions, the chances move x a y, and the start nu_0 *)
Definition flow (X K : nat) (move : nat -> nat -> vector) (beta : R) (start q d : vector) :=
  forall y, (y < X)%nat -> d y = (1 - beta) * start y +
    beta * sum X (fun x => sum K (fun a => choice K q x a * move x a y) * d x).
(* nu_A *)
Definition after_anchor (X : nat) (move : nat -> nat -> vector) (anchor : nat -> nat) (d : vector) (y : nat) :=
  sum X (fun x => move x (anchor x) y * d x).

Definition lemma_27 := forall X K move anchor beta start q d, 0 < beta < 1 -> (0 < K)%nat ->
  (forall x, (x < X)%nat -> (anchor x < K)%nat /\ 0 <= start x /\ 0 <= d x) ->
  (forall x a y, (x < X)%nat -> (a < K)%nat -> (y < X)%nat -> 0 <= move x a y) ->
  flow X K move beta start q d ->
  (forall y, (y < X)%nat -> d y = 0 -> after_anchor X move anchor d y = 0) /\
  forall B, (forall x a, (x < X)%nat -> (a < K)%nat -> Rabs (q (pair K x a)) <= B) ->
  let p_A := exp (- (2 * B)) / INR K in
  0 < p_A /\
  (forall x, (x < X)%nat -> p_A <= choice K q x (anchor x)) /\
  (forall y, (y < X)%nat -> after_anchor X move anchor d y <= 1 / (beta * p_A) * d y) /\
  1 / (beta * p_A) = INR K * exp (2 * B) / beta.

(* --- proof *)
Section Proof.
Variables (X K : nat) (move : nat -> nat -> vector) (anchor : nat -> nat) (beta : R) (start q d : vector).
Hypothesis Hb : 0 < beta < 1.
Hypothesis H : forall x, (x < X)%nat -> (anchor x < K)%nat /\ 0 <= start x /\ 0 <= d x.
Hypothesis M : forall x a y, (x < X)%nat -> (a < K)%nat -> (y < X)%nat -> 0 <= move x a y.
Hypothesis Flow : flow X K move beta start q d.

(* the flow through the anchor alone *)
Lemma flow_through : forall y, (y < X)%nat ->
  beta * sum X (fun x => choice K q x (anchor x) * (move x (anchor x) y * d x)) <= d y.
Proof.
  intros y Hy. rewrite (Flow y Hy). destruct (H y Hy) as [_ [S0 _]].
  assert (0 <= (1 - beta) * start y) by (apply Rmult_le_pos; lra).
  assert (sum X (fun x => choice K q x (anchor x) * (move x (anchor x) y * d x)) <=
    sum X (fun x => sum K (fun a => choice K q x a * move x a y) * d x)); [| nra].
  apply sum_le. intros x Hx. destruct (H x Hx) as [A [_ D]]. rewrite <- Rmult_assoc.
  apply Rmult_le_compat_r; [auto |].
  apply (sum_term K (fun a => choice K q x a * move x a y)); [| auto].
  intros a Ha. apply Rmult_le_pos; [left; apply choice_pos; lia | apply M; auto].
Qed.
Lemma part_pos : forall y x, (y < X)%nat -> (x < X)%nat -> 0 <= move x (anchor x) y * d x.
Proof. intros. destruct (H x) as [A [_ D]]; auto. apply Rmult_le_pos; auto. Qed.

Lemma exp_rises : forall s t, s <= t -> exp s <= exp t.
Proof. intros s t [L | E]; [left; apply exp_increasing; auto | rewrite E; lra]. Qed.

(* p_A bounds every choice from below *)
Lemma choice_below : forall B x a, (x < X)%nat -> (a < K)%nat ->
  (forall a, (a < K)%nat -> Rabs (q (pair K x a)) <= B) ->
  exp (- (2 * B)) / INR K <= choice K q x a.
Proof.
  intros B x a Hx Ha Q. assert (HK : 0 < INR K) by (apply lt_0_INR; lia).
  assert (E : forall a, (a < K)%nat -> exp (- B) <= exp (q (pair K x a)) <= exp B).
  { intros k Hk. pose proof (Q k Hk) as R. pose proof (Rle_abs (q (pair K x k))).
    pose proof (Rle_abs (- q (pair K x k))). rewrite Rabs_Ropp in *. split; apply exp_rises; lra. }
  assert (T : total K q x <= INR K * exp B).
  { rewrite <- sum_const. apply sum_le. intros k Hk. apply E. auto. }
  pose proof (total_pos K q x ltac:(lia)) as T0. unfold choice.
  replace (- (2 * B)) with (- B + - B) by ring. rewrite exp_plus.
  apply Rle_trans with (exp (- B) / total K q x).
  - pose proof (exp_pos (- B)). pose proof (exp_pos B) as EB.
    replace (exp (- B) * exp (- B) / INR K) with (exp (- B) * / (INR K * exp B))
      by (rewrite (exp_Ropp B); field; split; lra).
    unfold Rdiv. apply Rmult_le_compat_l; [lra |]. apply Rinv_le_contravar; auto.
  - unfold Rdiv. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; auto | apply E; auto].
Qed.
End Proof.

Theorem lemma_27_holds : lemma_27.
Proof.
  intros X K move anchor beta start q d Hb HK H M Flow.
  pose proof (flow_through X K move anchor beta start q d Hb H M Flow) as T.
  pose proof (part_pos X K move anchor start d H M) as P. split.
  - intros y Hy Z. unfold after_anchor. rewrite (sum_ext X _ (fun _ => 0)), sum_const; [ring |].
    intros x Hx. specialize (T y Hy). rewrite Z in T.
    pose proof (choice_pos K q x (anchor x) HK) as C. pose proof (P y x Hy Hx).
    assert (B : choice K q x (anchor x) * (move x (anchor x) y * d x) <=
      sum X (fun x => choice K q x (anchor x) * (move x (anchor x) y * d x))).
    { apply (sum_term X (fun x => choice K q x (anchor x) * (move x (anchor x) y * d x))); [| auto].
      intros i Hi. apply Rmult_le_pos; [left; apply choice_pos; auto | apply P; auto]. }
    set (part := move x (anchor x) y * d x) in *. set (all := sum X _) in *.
    assert (all <= 0) by (apply Rmult_le_reg_l with beta; lra).
    apply Rle_antisym; [| auto]. apply Rmult_le_reg_l with (choice K q x (anchor x)); lra.
  - intros B Q p_A. assert (K0 : 0 < INR K) by (apply lt_0_INR; auto).
    assert (P0 : 0 < p_A) by (apply Rdiv_lt_0_compat; [apply exp_pos | auto]).
    assert (Low : forall x, (x < X)%nat -> p_A <= choice K q x (anchor x)).
    { intros x Hx. apply (choice_below X K q B x); auto. apply H. auto. }
    split; [auto |]. split; [auto |]. split.
    + intros y Hy. assert (L : beta * p_A * after_anchor X move anchor d y <= d y).
      { eapply Rle_trans; [| apply (T y Hy)]. rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra |].
        unfold after_anchor. rewrite <- sum_scal. apply sum_le. intros x Hx.
        apply Rmult_le_compat_r; [apply P; auto | auto]. }
      assert (0 < beta * p_A) by (apply Rmult_lt_0_compat; lra).
      apply Rmult_le_reg_l with (beta * p_A); [auto |].
      replace (beta * p_A * (1 / (beta * p_A) * d y)) with (d y) by (field; split; lra). exact L.
    + unfold p_A. rewrite exp_Ropp. pose proof (exp_pos (2 * B)). field. repeat split; lra.
Qed.

Print Assumptions lemma_27_holds.
