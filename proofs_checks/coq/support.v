(* E8: S-bar as the support of the expert's states. The space has a countable base, as every separable
   metric space has. Sets that no state s_0, s_1, ... visits with positive probability are null. *)
Require Classical_Prop Classical_Pred_Type.

(* --- statement *)
Section Support.
Variables (S : Type) (base : nat -> S -> Prop) (null : (S -> Prop) -> Prop).

Definition open (U : S -> Prop) := forall s, U s -> exists n, base n s /\ forall t, base n t -> U t.
Definition closed (C : S -> Prop) := open (fun s => ~ C s).
(* as those of any probabilities: with their subsets, and with unions of sequences *)
Definition null_sets := null (fun _ => False) /\
  (forall A B : S -> Prop, (forall s, A s -> B s) -> null B -> null A) /\
  (forall A : nat -> S -> Prop, (forall n, null (A n)) -> null (fun s => exists n, A n s)).
(* all neighbourhoods are visited *)
Definition support (s : S) := forall n, base n s -> ~ null (base n).
End Support.

(* The support holds all states with probability one and is the smallest closed set that does; what
   holds on it holds almost everywhere; on a discrete space it is the set of the visited states. *)
Definition support_is_s_bar := forall (S : Type) base null, null_sets S null ->
  let support := support S base null in
  closed S base support /\ null (fun s => ~ support s) /\
  (forall C, closed S base C -> null (fun s => ~ C s) -> forall s, support s -> C s) /\
  (forall E : S -> Prop, (forall s, support s -> E s) -> null (fun s => ~ E s)) /\
  ((forall s, exists n, forall t, base n t <-> t = s) ->
    forall s, support s <-> ~ null (fun t => t = s)).

(* --- proof *)
Lemma outside : forall S base null s, ~ support S base null s ->
  exists n, base n s /\ null (base n).
Proof.
  intros S base null s H. apply Classical_Pred_Type.not_all_ex_not in H. destruct H as [n H]. exists n.
  apply Classical_Prop.imply_to_and in H. destruct H as [H Z]. split; [auto | apply Classical_Prop.NNPP; auto].
Qed.

Theorem support_is_s_bar_holds : support_is_s_bar.
Proof.
  intros S base null [N0 [N1 N2]] sup.
  assert (Full : null (fun s => ~ sup s)).
  { apply N1 with (fun s => exists n, base n s /\ null (base n)); [intros s; apply outside |].
    apply (N2 (fun n s => base n s /\ null (base n))). intros n.
    destruct (Classical_Prop.classic (null (base n))) as [Z | Z].
    - apply N1 with (base n); [tauto | auto].
    - apply N1 with (fun _ => False); [tauto | auto]. }
  split; [| split; [exact Full | split; [| split]]].
  - intros s H. destruct (outside S base null s H) as [n [Hn Z]]. exists n. split; [auto |].
    intros t Ht Q. apply (Q n); auto.
  - intros C HC Z s Hs. apply Classical_Prop.NNPP. intros H. destruct (HC s H) as [n [Hn Sub]].
    apply (Hs n Hn). apply N1 with (fun s => ~ C s); auto.
  - intros E H. apply N1 with (fun s => ~ sup s); auto.
  - intros Points s. split.
    + intros Hs Z. destruct (Points s) as [n P]. apply (Hs n); [apply P; auto |].
      apply N1 with (fun t => t = s); [apply P | auto].
    + intros Z n Hn Q. apply Z. apply N1 with (base n); [intros t Et; subst; auto | auto].
Qed.

Print Assumptions support_is_s_bar_holds.
