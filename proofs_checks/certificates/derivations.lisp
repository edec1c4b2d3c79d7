; Derivations of claims that hold: each goal is a sum of assumptions times multipliers that are not
; negative: ("name" m (>= a b)) adds m (a - b), and (square m (square x)) adds m x^2. Sums over
; states are linear, so a step for one term, or with the sums as symbols, is one for any number.

; --- the Bellman error and its forms: v is V(s'), m1 and m2 are the means of V and V^2, the target
; is r + beta v, and the backup r + beta m1
(derivation lem:expTD=BE
  (real r q m1 m2) (nonnegative beta)
  (steps
    (step (= (expectation m1 m2 (fn (v) (+ r (* beta v)))) (+ r (* beta m1))))
    (step (= (expectation m1 m2 (fn (v) (- (+ r (* beta v)) q))) (- (+ r (* beta m1)) q))))
  (joined "The operator, then the error, for any distribution of $s'$."))

(derivation eq:double-sampling
  (real r q m1 m2 x y z) (nonnegative beta)
  (steps
    (step (=
      (expectation m1 m2 (fn (v) (^ (- (+ r (* beta v)) q) 2)))
      (+ (^ (- (+ r (* beta m1)) q) 2) (* (^ beta 2) (expectation m1 m2 (fn (v) (^ (- m1 v) 2)))))))
    ; a world of three values: the TD error is nowhere below that of (1/2, 1/2, 3/2), 1/16
    (step (>= (+ (* 1/4 (^ (- (/ y 2) x) 2)) (* 1/4 (^ (- (/ z 2) x) 2))
                 (* 1/4 (^ (- (/ y 2) y) 2)) (* 1/4 (^ (- (+ 1 (/ z 2)) z) 2)))
              1/16)
      (square 1/2 (square (- x (/ (+ y z) 4))))
      (square 3/32 (square (- y (/ z 3))))
      (square 1/12 (square (- z 3/2))))
    ; where the Bellman error is 1/32, though it is 0 at (1/2, 0, 2)
    (step (= (let (x (list 1/2 1/2 3/2))
        (+ (* 1/2 (^ (- (* 1/2 1/2 (+ (x 1) (x 2))) (x 0)) 2))
           (* 1/16 (+ (^ (x 1) 2) (^ (- 2 (x 2)) 2)))))
      1/32))
    (step (= (let (x (list 1/2 0 2))
        (+ (* 1/2 (^ (- (* 1/2 1/2 (+ (x 1) (x 2))) (x 0)) 2))
           (* 1/16 (+ (^ (x 1) 2) (^ (- 2 (x 2)) 2)))))
      0)))
  (joined "The decomposition for any distribution; a world whose TD minimiser has Bellman error
    1/32."))

(derivation eq:biconjugate
  (real x h)
  (steps
    (step (>= (^ x 2) (- (* 2 x h) (^ h 2))) (square 1 (square (- x h))))
    (step (= (- (^ x 2) (- (* 2 x h) (^ h 2))) (^ (- x h) 2))))
  (joined "Zero at $h = x$, the mean TD error, and nowhere else."))

(derivation eq:SBEED
  (real r q rho m1 m2) (nonnegative beta)
  (steps (step (=
    (expectation m1 m2 (fn (v) (- (^ (- (+ r (* beta v)) q) 2) (^ (- (+ r (* beta v)) rho) 2))))
    (- (^ (- (+ r (* beta m1)) q) 2) (^ (- rho (+ r (* beta m1))) 2)))))
  (joined "So $\rho = TQ$ is the one maximiser."))

(derivation lem:OurBiconj.a
  (real r q z m1 m2) (nonnegative beta)
  (steps (step (=
    (- (expectation m1 m2 (fn (v) (^ (- (+ r (* beta v)) q) 2)))
       (* (^ beta 2) (expectation m1 m2 (fn (v) (^ (- v z) 2)))))
    (- (^ (- (+ r (* beta m1)) q) 2) (* (^ beta 2) (^ (- z m1) 2))))))
  (joined "$D(Q)$ is the deviation at $\zeta = E V$."))

(derivation lem:OurBiconj.b
  (real r q z m1 m2) (nonnegative beta)
  (steps
    (step (>= (expectation m1 m2 (fn (v) (^ (- v z) 2))) (expectation m1 m2 (fn (v) (^ (- v m1) 2))))
      (square 1 (square (- z m1))))
    (step (= (- q (* beta z)) r)
      ("Bellman equation" 1 (= q (+ r (* beta m1))))
      ("$\zeta^*$ is stationary" (/ (- beta) 2)
        (= ((grad (fn (u) (expectation m1 m2 (fn (v) (^ (- v (u 0)) 2)))) (list z)) 0) 0))))
  (joined "$\zeta^*$ is the mean of $V^*$; then $Q^* = r + \beta \zeta^*$."))

(derivation def:ERM.finite-states
  (real r q s1 s2) (nonnegative beta) (positive n) ; sums of V and V^2 over the n rows of a pair
  (steps (step (=
    (- (+ (* n (^ (- r q) 2)) (* 2 beta (- r q) s1) (* (^ beta 2) s2))
       (* (^ beta 2) (- s2 (/ (^ s1 2) n))))
    (* n (^ (- (+ r (/ (* beta s1) n)) q) 2)))))
  (joined "For each pair; $\bar\zeta$ is the mean $s_1/n$."))

(derivation alg:estimation_deterministic
  (real r q v m1 m2) (nonnegative beta)
  (steps
    (step (= (expectation m1 m2 (fn (x) (^ (- x v) 2))) 0)
      ("certain moves" (* -2 v) (= m1 v))
      ("certain moves" 1 (= m2 (^ v 2))))
    (step (=
      ((grad (fn (u) (- (^ (- (+ r (* beta (u 0))) q) 2) (* (^ beta 2) (^ (- (u 0) v) 2)))) (list v)) 0)
      ((grad (fn (u) (^ (- (+ r (* beta (u 0))) q) 2)) (list v)) 0)))
    (step (= (- q (* beta v)) r)
      ("Bellman equation" 1 (= q (+ r (* beta m1))))
      ("certain moves" beta (= m1 v))))
  (joined "Value, slope at $\zeta = V(s')$, and the reward."))

; --- the softmax and the entropy
(derivation eq:softmax-lower-bound
  (nonnegative S) (positive A M m u) ; u/S >= m/(A M) without its denominators
  (steps (step (>= (* A M u) (* m S))
    ("$u \geq \exp(Q_-)$" (* A M) (>= u m))
    ("$\sum \leq |A| \exp(Q_+)$" m (>= (* A M) S))))
  (step "$u/S \geq m/(A M)$, any $|A|$."))

(derivation eq:KL-chi-square ; D = (pi - p)^2, ratio = pi/p
  (real log-ratio) (nonnegative D) (positive p ratio p_-)
  (steps
    (step (>= (/ D p_-) (* p (+ (- (* ratio log-ratio) ratio) 1)))
      ("$p \geq p_-$" (/ D (* p p_-)) (>= p p_-))
      ("$D = (\pi - p)^2$" (/ 1 p) (= D (* (^ p 2) (^ (- ratio 1) 2))))
      ("$\log t \leq t - 1$" (* p ratio) (>= (- ratio 1) log-ratio)))
    ; t - 1 - log t is 0 at 1, and has this derivative
    (step (= ((grad (fn (t) (- (t 0) 1 (log (t 0)))) (list ratio)) 0) (/ (- ratio 1) ratio))))
  (step "Summed over actions with $t = \pi/p$: the terms of KL, as both add up to one."))

(derivation rem:BC-superset
  (real x y) (nonnegative beta) ; x = max c, y = E c(s')
  (steps (step (>= (- x (* beta y)) (* (- 1 beta) x)) ("$x$ is the largest" beta (>= x y))))
  (step "At the largest $c$, or for $-c$."))

; --- contraction, coercivity, overlap
(derivation thm:MagnacThesmar.contraction
  (real x y) (nonnegative beta P) ; y = sum p d, x = max |d|
  (steps (step (>= (* beta x) (* beta y))
    ("$P$ adds up to one" (* beta x) (= 1 P))
    ("$f_1 - f_2 \leq x$" beta (>= (* x P) y))))
  (step "$y = \sum p d$, $x = \max |d|$."))

(derivation lem:bellman_shift_coercivity
  (real agree whole x) (nonnegative beta S) (positive m n) ; agree = sum_x P_x s_x s_j
  (steps
    (step (>= (* m (- 1 (* beta agree))) (* (- 1 beta) m))
      ("signs agree at most wholly" (* beta m) (>= 1 agree)))
    ; n entries have the sum whole and the sum of squares S; x is one more
    (step (>= (* (+ n 1) (+ S (^ x 2))) (^ (+ whole x) 2))
      ("the same for $n$ entries" (+ 1 (/ 1 n)) (>= (* n S) (^ whole 2)))
      (square (/ 1 n) (square (- whole (* n x))))))
  (step "$s'(E - \beta T)'u \geq (1 - \beta)|u|_1$ term by term, $s = \mathrm{sign} u$; $|w|_2
    \geq |w|_1/\sqrt{X}$ by induction, $|u|_1 \geq |u|_2$, and a block's mean has $1/\sqrt{A}$ of
    the length."))

(derivation lem:anchor_overlap_logit
  (nonnegative beta first others S P) (positive p p_A A M m u) ; a state of weight S, a target y
  (steps
    (step (>= (+ first (* beta S (+ (* p P) others))) (* beta p_A S P))
      ("$\pi(a_s|s) \geq p_A$" (* beta S P) (>= p p_A))
      (square first (square 1))
      (square (* beta S others) (square 1)))
    (step (>= (* A M u) (* m S))
      ("$u \geq \exp(Q_-)$" (* A M) (>= u m))
      ("$\sum \leq |A| \exp(Q_+)$" m (>= (* A M) S))))
  (step "Summed over $s$."))

; --- Polyak-Lojasiewicz
(derivation eq:abc-inequality
  (real a b c d) (positive kappa) ; |a|^2, |b|^2, |c|^2 and <a, b>; lead is 1 - 1/(2 (1 + kappa^2))
  (steps (step
    (>= (+ a (* 2 d) b c) (+ (/ a (* 2 (+ 1 (^ kappa 2)))) (/ c 2)))
    ("$|b| \leq \kappa |c|$" (/ 1 (* 2 (^ kappa 2))) (>= (* (^ kappa 2) c) b))
    ("$|\text{lead} a + b|^2 \geq 0$" (/ (* 2 (+ 1 (^ kappa 2))) (+ 1 (* 2 (^ kappa 2))))
      (>= (+ (* (^ (/ (+ 1 (* 2 (^ kappa 2))) (* 2 (+ 1 (^ kappa 2)))) 2) a)
             (* 2 (/ (+ 1 (* 2 (^ kappa 2))) (* 2 (+ 1 (^ kappa 2)))) d) b) 0))
    ("$|b|^2 \geq 0$" (/ 1 (* 2 (^ kappa 2) (+ 1 (* 2 (^ kappa 2))))) (>= b 0))))
  (step "Any dimension: only lengths and one inner product occur."))

(derivation lem:BE_PL ; G, C, W: |grad|^2, |A'..|^2, |W Psi|^2
  (nonnegative G C W L) (positive mu gamma omega_- omega_+ omega)
  (steps
    (step (>= (^ omega 2) (* (/ (^ omega_- 2) omega_+) omega))
      ("$\omega \geq \omega_-$" omega (>= omega omega_-))
      ("$\omega_+ \geq \omega_-$" (/ (* omega omega_-) omega_+) (>= omega_+ omega_-)))
    (step (>= (/ G 2) (* 2 mu (^ gamma 2) (/ (^ omega_- 2) omega_+) L))
      ("$J J' \geq \mu I$" 1/2 (>= G (* mu C)))
      ("coercivity" (/ mu 2) (>= C (* 4 (^ gamma 2) W)))
      ("$\sum \omega^2 \Psi^2 \geq \text{ratio} \cdot L_{\mathrm{BE}}$" (* 2 mu (^ gamma 2))
        (>= W (* (/ (^ omega_- 2) omega_+) L)))))
  (step "$G$, $C$, $W$: $|\nabla|^2$, $|A'\dots|^2$, $|W \Psi|^2$."))

(derivation lem:NLL_PL ; S = sum omega^2 D, N the gap; d = (pi - p)^2 of an action, ratio = pi/p
  (real log-ratio) (nonnegative G S N D K d) (positive mu p ratio p_- omega_- omega)
  (steps
    (step (>= (* (^ omega 2) D) (* p_- omega_- omega K))
      ("$\omega \geq \omega_-$" (* omega D) (>= omega omega_-))
      ("$p_- \mathrm{KL} \leq |p - \pi|^2$" (* omega omega_-) (>= D (* p_- K))))
    (step (>= (/ G 2) (* 1/2 mu p_- omega_- N))
      ("$J J' \geq \mu I$" 1/2 (>= G (* mu S)))
      ("states" (/ mu 2) (>= S (* p_- omega_- N))))
    (step (>= (/ d p_-) (* p (+ (- (* ratio log-ratio) ratio) 1)))
      ("$p \geq p_-$" (/ d (* p p_-)) (>= p p_-))
      ("$d = (\pi - p)^2$" (/ 1 p) (= d (* (^ p 2) (^ (- ratio 1) 2))))
      ("$\log t \leq t - 1$" (* p ratio) (>= (- ratio 1) log-ratio))))
  (step "$S = \sum \omega^2 D$, $N$ the gap; the last step is that of the entropy's bound."))

(derivation lem:auto_cancellation_control ; N = |grad NLL|^2; the first part is the inequality of abc
  (nonnegative T-part N C W L) (positive kappa gamma omega_- omega_+)
  (steps (step
    (>= T-part (+ (/ N (* 2 (+ 1 (^ kappa 2)))) (* 2 (^ gamma 2) (/ (^ omega_- 2) omega_+) L)))
    ("abc" 1 (>= T-part (+ (/ N (* 2 (+ 1 (^ kappa 2)))) (/ C 2))))
    ("coercivity" 1/2 (>= C (* 4 (^ gamma 2) W)))
    ("$\sum \omega^2 \Psi^2 \geq \text{ratio} \cdot L_{\mathrm{BE}}$" (* 2 (^ gamma 2))
      (>= W (* (/ (^ omega_- 2) omega_+) L)))))
  (step "$N = |\nabla \mathrm{NLL}|^2$; the first assumption is `eq:abc-inequality`, the last step
    of `lem:BE_PL`."))

(derivation thm:bothPL ; S, N, L as in the lemmas
  (nonnegative G T-part S N L) (positive mu a_NLL a_BE c alpha p_- omega_- kappa)
  (steps
    (step (>= (/ G 2) (* c (+ N L)))
      ("$J J' \geq \mu I$" 1/2 (>= G (* mu T-part)))
      ("cancellation" (/ mu 2) (>= T-part (+ (* a_NLL S) (* a_BE L))))
      ("NLL is PL" (/ (* mu a_NLL) 2) (>= S (* 2 alpha N)))
      ("$c \leq \mu a_{\mathrm{NLL}} \alpha_{\mathrm{NLL}}$" N (>= (* mu a_NLL alpha) c))
      ("$c \leq \mu a_{\mathrm{BE}} / 2$" L (>= (/ (* mu a_BE) 2) c)))
    (step (= (* (/ (* p_- omega_-) 2) (/ 1 (* 2 (+ 1 (^ kappa 2)))))
             (/ (* p_- omega_-) (* 4 (+ 1 (^ kappa 2)))))))
  (step "$S$, $N$, $L$: as in the lemmas; then $\alpha_{\mathrm{NLL}} a_{\mathrm{NLL}}$."))

(derivation lem:zeta_empirical_pl ; D = (zeta - mean)^2 of a group, S = |grad|^2 in outputs
  (nonnegative beta G S N D) (positive mu omega_- omega)
  (steps
    (step (>= (* 2 (^ beta 4) (^ omega 2) D) (* 2 (^ beta 2) omega_- (^ beta 2) omega D))
      ("$\omega \geq \omega_-$" (* 2 (^ beta 4) omega D) (>= omega omega_-)))
    (step (>= (/ G 2) (* 2 (^ beta 2) mu omega_- N))
      ("$J J' \geq \mu I$" 1/2 (>= G (* mu S)))
      ("groups" mu (>= (/ S 2) (* 2 (^ beta 2) omega_- N)))))
  (step "$D = (\zeta - \text{mean})^2$ of a group, $S = |\nabla|^2$ in outputs."))

(derivation lem:finite_output_pl_transfer
  (nonnegative G S N) (positive mu alpha)
  (steps (step (>= (/ G 2) (* alpha mu N))
    ("$J J' \geq \mu I$" 1/2 (>= G (* mu S)))
    ("PL in outputs" mu (>= (/ S 2) (* alpha N)))))
  (step "$\nabla L = J' \nabla \phi$."))

(derivation lem:NNenjoysPL.output-transform ; D = |D v|^2, N = |v|^2
  (real x) (nonnegative Q-form D N) (positive lambda slope floor)
  (steps
    (step (>= (* (^ slope 2) (^ x 2)) (* (^ floor 2) (^ x 2)))
      ("$|\sigma'| \geq \rho$" (* (^ x 2) (+ slope floor)) (>= slope floor)))
    (step (>= Q-form (* lambda (^ floor 2) N))
      ("$\tilde K \geq \lambda I$" 1 (>= Q-form (* lambda D)))
      ("entries" lambda (>= D (* (^ floor 2) N)))))
  (step "$D = |D v|^2$, $N = |v|^2$."))

; --- the rest
(derivation fn:sum-of-PL ; y^2 and (y - x^2 + 1)^2, their sum at (0, -1/2) and at (1, 0)
  (real x y)
  (steps
    (step (>= (/ (dot (grad (fn (u) (^ (u 1) 2)) (list x y)) (grad (fn (u) (^ (u 1) 2)) (list x y))) 2)
      (* 2 (^ y 2))))
    (step (>= (let (slope (grad (fn (u) (^ (+ (- (u 1) (^ (u 0) 2)) 1) 2)) (list x y)))
        (/ (dot slope slope) 2))
      (* 2 (^ (+ (- y (^ x 2)) 1) 2)))
      (square 8 (square (* x (+ (- y (^ x 2)) 1)))))
    (step (= (let (slope (grad (fn (u) (+ (^ (u 1) 2) (^ (+ (- (u 1) (^ (u 0) 2)) 1) 2))) (list 0 -1/2)))
        (dot slope slope)) 0))
    (step (= (let (u (list 0 -1/2)) (+ (^ (u 1) 2) (^ (+ (- (u 1) (^ (u 0) 2)) 1) 2))) 1/2))
    (step (= (let (u (list 1 0)) (+ (^ (u 1) 2) (^ (+ (- (u 1) (^ (u 0) 2)) 1) 2))) 0)))
  (joined "PL each, with constant 2; stuck at $1/2 > 0$."))

(derivation thm:distributional_q_bound.algebra
  (nonnegative a b c) ; the roots of the three parts
  (steps (step (>= (^ (+ a b c) 2) (+ (^ a 2) (^ b 2) (^ c 2)))
    (square (* 2 a b) (square 1)) (square (* 2 b c) (square 1)) (square (* 2 a c) (square 1))))
  (step "$a$, $b$, $c$: the roots of the three parts."))

(derivation lem:sharingsol
  (real f g least_f least_g)
  (steps (step (>= least_f f)
    ("$x$ minimises $f + g$" 1 (>= (+ least_f least_g) (+ f g)))
    ("$g \geq \text{least}_g$" 1 (>= g least_g)))
  (step (>= least_g g)
    ("$x$ minimises $f + g$" 1 (>= (+ least_f least_g) (+ f g)))
    ("$f \geq \text{least}_f$" 1 (>= f least_f))))
  (joined "$f$ and $g$ at $x$, a minimiser of the sum, which is $\text{least}_f + \text{least}_g$
    where the sets meet."))

; --- the problem and its solution: S is the sum of exp Q(s, .), L = log S
(derivation app.Q-minus-log-policy
  (real q) (positive S)
  (steps (step (= (- q (log (/ (exp q) S))) (log S))))
  (joined "$S$ is the sum of $\exp Q(s, a)$ over $a$, whose logarithm $V$ is by definition."))

(derivation setup.softmax-policy ; q is any policy at s, p the softmax of x there
  (real x L K W U) (positive S q)
  (steps
    (step (= (* q (- x (log q))) (+ (* q (log S)) (* q (log (/ (/ (exp x) S) q))))))
    (step (= (let (p (/ (exp x) S)) (* p (- x (log p)))) (* (/ (exp x) S) (log S))))
    ; K = sum q log(p/q), U = sum p, W = sum q
    (step (>= L (+ (* W L) K))
      ("$\log t \leq t - 1$, summed" 1 (>= (- U W) K))
      ("$p$ adds up to one" 1 (= 1 U))
      ("$q$ adds up to one" (- L 1) (= 1 W))))
  (step "The terms of $\langle q, x \rangle + H(q)$, summed over actions, then their value at $p$
    and at any $q$. That a policy which is best at each $s$ for $x = r + \beta E V^*$ is optimal
    is dynamic programming."))

(derivation lem:logsumexp_Shannon
  (real x L K W U) (positive S q tau)
  (steps
    (step (= (- (* q x) (* tau q (log q)))
             (+ (* tau q (log S)) (* tau q (log (/ (/ (exp (/ x tau)) S) q))))))
    (step (= (let (p (/ (exp (/ x tau)) S)) (- (* p x) (* tau p (log p))))
             (* tau (/ (exp (/ x tau)) S) (log S))))
    (step (>= (* tau L) (+ (* tau W L) (* tau K)))
      ("$\log t \leq t - 1$, summed" tau (>= (- U W) K))
      ("$p$ adds up to one" tau (= 1 U))
      ("$q$ adds up to one" (* tau (- L 1)) (= 1 W))))
  (step "As for the policy; equality holds where $\log t = t - 1$, at $q = p$ alone."))

(derivation eq:QBellman ; y = E |V_1 - V_2|, x = max |Q_1 - Q_2|
  (real x y c) (nonnegative beta) (positive S)
  (steps
    (step (= (log (* (exp c) S)) (+ c (log S))))
    (step (>= 0 (* (- 1 beta) x))
      ("both solve the equation" 1 (>= (* beta y) x))
      ("$|V_1 - V_2| \leq x$, and $P$ averages" beta (>= x y))))
  (step "$V(Q + c) = V(Q) + c$ and log rises, so $|V_1 - V_2| \leq |Q_1 - Q_2|$; $\beta < 1$, so
    $x = 0$. That a solution exists is Banach's theorem."))

(derivation sec:DDCIRLequiv ; c is the shift of Q, d = delta + gamma the mean of the noise, m = E V*
  (real q r m c d) (nonnegative beta) (positive S)
  (steps
    (step (= (log (* (exp c) S)) (+ c (log S))))
    (step (= (+ q c) (+ r (* beta (+ m c d))))
      ("Bellman equation of $Q^*$" 1 (= q (+ r (* beta m))))
      ("$c = \beta d/(1 - \beta)$" 1 (= (* (- 1 beta) c) (* beta d)))))
  (step "$E \max(Q + \epsilon) = V + d$ by Corollary GumbelMaxasProb. A shift $c$ leaves the
    softmax. For another $\lambda$ divide by it."))

(derivation asmp:anchor.invariance
  (real v) (positive p_1 p_2 p_3)
  (steps (step (= (log (+ (* (exp v) p_1) (* (exp v) p_2) (* (exp v) p_3)))
                  (+ v (log (+ p_1 p_2 p_3))))))
  (step "Any number of actions; the sum is 1. $V = r - \log \pi^* + \beta P V$ has a solution, and
    then $r := V + \log \pi^* - \beta E V$ has the given values and $Q^* = V + \log \pi^*$."))

; --- Gumbel
(derivation lem:GumbelMax
  (real n_1 n_2 x)
  (steps
    (step (= (* (exp (- (exp (- n_1 x)))) (exp (- (exp (- n_2 x)))))
             (exp (* -1 (+ (exp n_1) (exp n_2)) (exp (- x))))))
    (step (= (exp (V (list n_1 n_2))) (+ (exp n_1) (exp n_2)))))
  (step "The distribution function of the larger of two is the product; induction."))

(derivation cor:GumbelOptProb ; S = sum exp(nu_i), F_i(x) = exp(-exp(nu_i - x))
  (real n x) (positive S)
  (steps
    (step (= ((grad (fn (u) (* (/ (exp n) S) (exp (* -1 S (exp (- (u 0))))))) (list x)) 0)
             (* (exp (- n x)) (exp (- (exp (- n x)))) (exp (* -1 (- S (exp n)) (exp (- x)))))))
    (step (= (* (/ (exp n) S) (exp 0)) (/ (exp n) S))))
  (step "The derivative of $(\exp(\nu_k)/S) \exp(-S \exp(-x))$ is $f_k$ times the $F_i$ of the
    others. The function tends to 0 and to $\exp(\nu_k)/S$."))

(derivation cor:GumbelMaxasProb
  (real n x c) (positive S)
  (steps
    (step (= (* (exp (- n x)) (exp (- (exp (- n x)))) (exp (* -1 (- S (exp n)) (exp (- x)))))
             (* (/ (exp n) S) (* S (exp (- x)) (exp (* -1 S (exp (- x))))))))
    (step (= (+ c (log S)) (- (+ c n) (log (/ (exp n) S))))))
  (step "So the largest is independent of which it is. It has the density of $\mathrm{Gumbel}(\log
    S, 1)$, whose mean is $c + \log S$ with Euler's $c$."))

; --- occupancies: D = E_d[Q^pi - f], M that of E[(Q^pi - f)(s', a')], B = E_d[T^pi f - f]
(derivation lem:telescoping/instead
  (real Q f D M B) (nonnegative beta)
  (steps (step (= (* (- 1 beta) (- Q f)) B)
    ("flow of the occupancy" -1 (= (- D (* beta M)) (* (- 1 beta) (- Q f))))
    ("Bellman equation of $Q^\pi$, averaged" 1 (= (- D (* beta M)) B))))
  (step "$d$ is $1 - \beta$ times what starts at $(s_0, a_0)$ plus $\beta$ times its own
    successors."))

(derivation cor:occp=naiveBE ; D and M: Q^pi and E[Q^pi(s', a')] under d*; R and r the mean rewards
  (real Q D M R r) (nonnegative beta)
  (steps (step (= (- R r) (- (+ R (* beta M)) D))
    ("flow of $d^*$" -1 (= (- (* (- 1 beta) Q) D) (- (* beta M))))
    ("$Q^\pi$ is the value of $\pi$" 1 (= (* (- 1 beta) Q) r))))
  (step "The flow of the occupancy as in Lemma telescoping, for $d^*$ and for $d^\pi$."))

(derivation lem:completeMetric
  (real near far gap) ; |Q - Q_m|, |Q - Q_n|, |Q_m - Q_n| at a pair
  (nonnegative eps)
  (steps (step (>= (+ near eps) far)
    ("triangle" 1 (>= (+ near gap) far))
    ("a Cauchy sequence" 1 (>= eps gap))))
  (step "$m \to \infty$ at each pair, with the same $\epsilon$ for all pairs: the limit is one in
    the sup norm, and bounded."))

; --- identification by the risk: K = E KL, x = max |Q - Q*|, y its mean at s'
(derivation thm:mainopt
  (real K U W x y) (nonnegative beta) (positive pi p)
  (steps
    (step (= (- (* pi (- (log p))) (* pi (- (log pi)))) (* pi (log (/ pi p)))))
    (step (>= K 0)
      ("$\log t \leq t - 1$, summed" 1 (>= (- W U) (- K)))
      ("both add up to one" 1 (= U W)))
    (step (>= 0 (* (- 1 beta) x))
      ("the anchor's equation at the largest difference" 1 (>= (* beta y) x))
      ("$P$ averages" beta (>= x y))))
  (step "The excess is KL plus the anchor's squared error, both at least 0 and 0 at $Q^*$. Where
    both are 0, $Q - Q^*$ is the same for all actions, and solves the anchor's equation."))

(derivation thm:algoEQ
  (real r q z m1 m2 K U W x y) (nonnegative beta)
  (steps
    (step (= (- (expectation m1 m2 (fn (v) (^ (- (+ r (* beta v)) q) 2)))
                (* (^ beta 2) (expectation m1 m2 (fn (v) (^ (- v z) 2)))))
             (- (^ (- (+ r (* beta m1)) q) 2) (* (^ beta 2) (^ (- z m1) 2)))))
    (step (>= K 0)
      ("$\log t \leq t - 1$, summed" 1 (>= (- W U) (- K)))
      ("both add up to one" 1 (= U W)))
    (step (>= 0 (* (- 1 beta) x))
      ("the anchor's equation at the largest difference" 1 (>= (* beta y) x))
      ("$P$ averages" beta (>= x y)))
    (step (= (- q (* beta z)) r)
      ("Bellman equation" 1 (= q (+ r (* beta m1))))
      ("$\zeta^*$ is the mean" (- beta) (= z m1))))
  (step "The maximum over $\zeta$ is the Bellman error; then as for the expected risk."))

; --- classes
(derivation lem:linPolyNonsingular
  (real a b c x y z)
  (steps
    (step (= (let (slope (grad (fn (u) (dot (list a b c) u)) (list x y z)))
        (+ (^ (- (slope 0) a) 2) (^ (- (slope 1) b) 2) (^ (- (slope 2) c) 2))) 0))
    (step (= (let (second (hess (fn (u) (dot (list a b c) u)) (list x y z)))
        (sum i 3 (sum j 3 (^ (second i j) 2)))) 0)))
  (step "Three parameters stand for any number: $J$ is $\Phi$, and $J J' = \Phi \Phi'$ has the
    Gram matrix's eigenvalues."))

(derivation lem:NNenjoysPL.perturbation ; s = sqrt(M) C_R R, d = |J - J_0|, K = |K(theta) - K(theta_0)|
  (real K d) (nonnegative C_0 s)
  (steps (step (>= (* 2 (+ C_0 s) s) K)
    ("$J J' - J_0 J_0'$ and $|J| \leq C_0 + s$" 1 (>= (* (+ (* 2 C_0) s) d) K))
    ("$|J - J_0| \leq s$" (+ (* 2 C_0) s) (>= s d))
    (square (^ s 2) (square 1))))
  (step "$J J' - J_0 J_0' = J (J - J_0)' + (J - J_0) J_0'$, and $C_J = C_0 + s$."))

; --- convexity: Q = (0, t), beta = 1/2 and r = -4 - log(2)/2, at t = 0; and PL without it
(derivation sec:GlobalConv.nonconvex
  (real x)
  (steps (step (= (((hess (fn (u) (let (v (log (+ 1 (exp (u 0)))))
        (+ v (^ (+ -4 (* -1/2 (log 2)) (/ v 2)) 2)))) (list 0)) 0) 0) -5/8)))
  (joined "There is one observation of the first action, the anchor, at a state that stays. The
    likelihood is $V - 0$, and the residual $r + V/2 - 0$."))

(derivation abstract.weaker-than-strong-convexity ; G = |grad f|, d the distance to the minimiser
  (real G d x y) (nonnegative gap) (positive mu)
  (steps
    (step (>= (/ (^ G 2) 2) (* mu gap))
      ("strongly convex, at the minimiser" mu (>= (- (* G d) (* 1/2 mu (^ d 2))) gap))
      (square 1/2 (square (- G (* mu d)))))
    (step (= (let (slope (grad (fn (u) (^ (u 1) 2)) (list x y))) (/ (dot slope slope) 2))
             (* 2 (^ y 2))))
    (step (= (((hess (fn (u) (^ (u 1) 2)) (list x y)) 0) 0) 0)))
  (step "Cauchy and Schwarz bound the linear term by $G d$. The plane's $y^2$ is PL with $\mu =
    2$, and flat in $x$."))

; --- the corrected chain
(derivation corrected.level
  (real rho) (nonnegative beta above)
  (steps
    ; half the flow: trace, determinant, discriminant
    (step (= (+ (* -1 rho (- (* 2 beta) 1)) (* rho (^ beta 2))) (* rho (^ (- 1 beta) 2))))
    (step (= (- (^ (- (* 2 beta) 1 rho) 2) (* 4 rho (^ (- 1 beta) 2)))
             (* (- rho 1) (- rho (^ (- (* 2 beta) 1) 2)))))
    ; rho < 1: half the trace is above -(1 - beta), by half of 1 - rho
    (step (= (- (/ (- (* 2 beta) 1 rho) 2) (- beta 1)) (/ (- 1 rho) 2)))
    ; rho > 1: the polynomial at -(1 - beta) is at most 0, so that a root lies above
    (step (= (+ (^ (- beta 1) 2) (* -1 (- (* 2 beta) 1 rho) (- beta 1)) (* rho (^ (- 1 beta) 2)))
             (* beta (- 1 beta) (- 1 rho))))
    ; the polynomial at -(1 - beta)^2, right of both roots
    (step (= (+ (^ (- 1 beta) 4) (* (- (* 2 beta) 1 rho) (^ (- 1 beta) 2)) (* rho (^ (- 1 beta) 2)))
             (* (^ beta 2) (^ (- 1 beta) 2)))))
  (step "A quadratic that is negative at a point has a root above it. As $\rho$ grows, one root
    tends to $-(1 - \beta)^2$ and the other to minus infinity."))

(derivation corrected.two-time-scale ; G = g - g*, X = |grad g|^2, D = |z - P V|_b^2, k the rate
  (real H E) (nonnegative G X D beta c k) (positive tau rho nu) ; H, E: G and D after the step
  (steps (step
    (>= (* (- 1 k) (+ G (* (/ rho (* 8 (^ nu 2) tau)) D))) (+ H (* (/ rho (* 8 (^ nu 2) tau)) E)))
    ("descent with the slope's error" 1
      (>= (+ G (* -1/2 tau X) (* 2 tau (^ beta 4) (^ nu 2) D)) H))
    ("contraction of $\zeta$" (/ rho (* 8 (^ nu 2) tau))
      (>= (* (- 1 rho) (+ D (* (/ (* 2 (^ nu 2) (^ tau 2)) rho) (+ X (* 4 (^ beta 4) (^ nu 2) D))))) E))
    ("$g$ is PL" (/ tau 2) (>= (/ X 2) (* c G)))
    ("$\tau \leq \rho/(\sqrt{48} \beta^2 \nu^2)$" (/ D (* 16 (^ nu 2) tau))
      (>= (^ rho 2) (* 48 (^ tau 2) (^ beta 4) (^ nu 4))))
    ("$k \leq \tau c/2$" G (>= (/ (* tau c) 2) k))
    ("$k \leq \rho/2$" (* (/ rho (* 8 (^ nu 2) tau)) D) (>= (/ rho 2) k))
    (square (* 1/4 tau rho X) (square 1))
    (square (* rho tau (^ beta 4) (^ nu 2) D) (square 1))))
  (step "The two inequalities of the step come from $L$-smoothness on the segment and from the
    triangle inequality, squared with weights $1 + \rho$ and $1 + 1/\rho$."))

(derivation corrected.coordinates
  (real r v q z m1 m2 x y) (nonnegative beta) (positive pi p)
  (steps
    (step (= (* pi (- (log p))) (+ (* pi (- (log pi))) (* pi (log (/ pi p))))))
    (step (= (- (expectation m1 m2 (fn (v) (^ (- (+ r (* beta v)) q) 2)))
                (* (^ beta 2) (expectation m1 m2 (fn (v) (^ (- v z) 2)))))
             (- (^ (- (+ r (* beta m1)) q) 2) (* (^ beta 2) (^ (- z m1) 2)))))
    ; two V with the same (l, e): x is the largest difference, y its mean at s'
    (step (>= 0 (* (- 1 beta) x))
      ("both solve $(I - \beta P) V = r - l_a - e$" 1 (>= (* beta y) x))
      ("$P$ averages" beta (>= x y))))
  (step "Cross-entropy is entropy plus KL, the maximum over $\zeta$ is $e^2$, and $I - \beta P$ is
    one-to-one, hence invertible on finitely many states."))

(derivation corrected.error-identity ; at a state; m and n: P-hat and P applied to V*, w: P-hat to V-hat
  (real r f g v h m n w) (nonnegative beta) ; f and g: log pi-hat and log pi* of the anchor; v = V*, h = V-hat
  (steps (step (= (- (- h v) (* beta (- w m))) (- (* beta (- m n)) (- f g)))
    ("equation of $\hat V$" 1 (= (- h (* beta w)) (- r f)))
    ("equation of $V^*$" -1 (= (- v (* beta n)) (- r g)))))
  (step "$I - \beta \hat P$ is invertible, and $Q = V + l$."))

(derivation corrected.pl ; G = |grad_theta|^2, C = |G'y|^2, Y = y'Dy, s = s'm, lam the eigenvalue
  (nonnegative G C Y s gap Delta) (positive mu lam)
  (steps (step (>= (/ G 2) (* mu lam (+ 1 s) gap))
    ("$J J' \geq \mu I$" 1/2 (>= G (* mu C)))
    ("$\lambda_{\min}$" (/ mu 2) (>= C (* lam Y)))
    ("$\alpha$ of every state" (* mu lam) (>= (/ Y 2) (+ gap (* s Delta))))
    ("$g - g^* \leq \Delta$" (* mu lam s) (>= Delta gap))))
  (step "The definition of $\alpha$ bounds $w \mathrm{KL}$ by $y^2/(2 w \alpha)$ at every state,
    and $y_e^2/(4b)$ is $b e^2$; the $m$-weighted sum of $w \mathrm{KL}$ is $s'm \Delta$."))

(derivation corrected.schur ; x = |lambda|, y = |eta|
  (real x y) (nonnegative k) (positive a b)
  (steps (step (>= (* (+ (/ (^ (+ 1 k) 2) a) (/ (^ k 2) (* 2 b))) (+ (* a (^ x 2)) (* 2 b (^ y 2))))
                   (^ (+ (* (+ 1 k) x) (* k y)) 2))
    (square (/ 1 (* 2 a b)) (square (- (* 2 b (+ 1 k) y) (* k a x))))))
  (step "$|dQ| \leq (1 + k)|\lambda| + k|\eta|$ off the constants, by the span of $R$; for a reset
    $R f$ is $f$ plus a constant."))

(derivation corrected.reward-convex ; x the least second derivative of V, y its mean at s'
  (real x y) (nonnegative beta spread-of-slopes)
  (steps (step (>= (* (- 1 beta) x) 0)
    ("$V'' = \text{variance} + \beta P_\pi V''$ at the least"
      1 (= x (+ spread-of-slopes (* beta y))))
    ("$P$ averages" beta (>= y x))
    (square spread-of-slopes (square 1))))
  (step "$-\log p = V - r - \beta P V$ is summed over the data; a sum of convex $V$ with weights
    $u \geq 0$ is convex."))

(derivation corrected.alpha ; f = KL, s = f', Y = |p - pi|^2, B a bound of f', h: KL after a step
  (real h) (nonnegative f s Y B alpha) (positive t)
  (steps
    (step (>= (/ Y 2) (* (/ B (* 2 t)) f))
      ("$|p - \pi| \geq f'$" 1/2 (>= Y (^ s 2)))
      ("$f \leq t f'$" (/ s (* 2 t)) (>= (* t s) f))
      ("$f' \geq B$" (/ f (* 2 t)) (>= s B)))
    (step (>= (* (- 1 (* 2 alpha)) f) h)
      ("KL is 1/2-smooth" 1 (>= (- f Y) h))
      ("$|p - \pi|^2/2 \geq \alpha \mathrm{KL}$" 2 (>= (/ Y 2) (* alpha f)))))
  (step "$B$ comes from $|f'''| \leq s f''$ and two integrals (corrected.md, Theorem 3)."))

; --- what to write instead
(derivation prop:linConvergence.two-sided-PL/instead ; x = r + beta V - Q, y = V - zeta, Q + c for Q
  (real q x y c) (nonnegative beta) (positive S)
  (steps
    (step (= (- (log (* (exp c) S)) (+ q c)) (- (log S) q)))
    (step (= (((hess (fn (u) (- (^ (+ x (* (- beta 1) (u 0))) 2)
                               (* (^ beta 2) (^ (+ y (u 0)) 2)))) (list c)) 0) 0)
             (* 2 (- 1 (* 2 beta))))))
  (step "The mean over all rows, of which $N_{\mathrm{BE}}$ are the anchor's. PL of the profile
    and in $\phi$ are Theorem bothPL and Lemma zeta_empirical_pl. Yang et al.'s proof is cited."))

(derivation intro.unique-saddle/instead ; m and n: means of x = r + beta V* - Q* and y = V* - zeta*
  (real c m n m2 n2) (nonnegative beta)
  (steps (step
    (= (- (+ m2 (* 2 (- beta 1) c m) (* (^ (- beta 1) 2) (^ c 2)))
          (* (^ beta 2) (+ n2 (* 2 c n) (^ c 2))))
       (+ (- m2 (* (^ beta 2) n2)) (* (- 1 (* 2 beta)) (^ c 2))))
    ("Bellman equation" (* 2 (- beta 1) c) (= m 0))
    ("$\zeta^*$ is the mean" (* -2 (^ beta 2) c) (= n 0))))
  (step "At anchor pairs, where $m_2$ and $n_2$ are the mean squares. Uniqueness is Theorem
    algoEQ."))

(derivation prop:linConvergence.optimisation-rate/instead
  ; a = g - g*, b = g - f at (theta, phi); a_1, b_1 after both steps, b_0 between them; G = |grad g|^2,
  ; X = |grad_theta f|^2, D = |grad g - grad_theta f|^2; u = l^2/mu_2, q = 1 - mu_2 tau_phi
  (real a_1 b_0 b_1 W W_1 K) (nonnegative a b G X D q N_1 N_2 N_3 e m nu) (positive mu_1 u tau)
  (steps
    (step (>= (+ (* (- 1 (/ (* mu_1 tau) 2)) (+ a (/ b 10)))
                 (* (+ 1 (/ q 10)) N_1) (* (/ q 10) N_2) (/ N_3 10))
              (+ a_1 (/ b_1 10)))
      ("$g$ is smooth" (+ 1 (/ q 10))
        (>= (+ a (* -1/2 tau G) (* 1/2 tau D) N_1) a_1))
      ("$f$ is smooth" (/ q 10)
        (>= (+ b (- a_1 a) (* 3/2 tau X) N_2) b_0))
      ("$f$ is PL in $\phi$" 1/10 (>= (+ (* q b_0) N_3) b_1))
      ("triangle" (* 3/20 q tau) (>= (+ (* 2 G) (* 2 D)) X))
      ("growth in $\phi$" (* tau (+ 1/2 (* 7/20 q))) (>= (* 2 u b) D))
      ("$g$ is PL" (/ tau 2) (>= (/ G 2) (* mu_1 a)))
      ("$\mu_1 \leq L \leq 2 l^2/\mu_2$" (* 1/10 tau b) (>= u (/ mu_1 2)))
      ("$\tau_\phi = 18 (l/\mu_2)^2 \tau_\theta$" (* -1/20 (+ (* 5 G tau) (* 14 b tau u) (* 2 b)))
        (= q (- 1 (* 18 u tau))))
      (square (* 9/10 (^ tau 2) u (+ (* 5 G) (* 14 b u))) (square 1)))
    ; the induction at n = gamma + t, with k = mu_1 c/2 = 1 + e and n = k + m: W = a + b/10
    (step (let (n (+ 1 e m)) (>= (/ nu (+ n 1)) W_1))
      ("one step" 1
        (>= (+ (* (/ m (+ 1 e m)) W) (/ K (^ (+ 1 e m) 2))) W_1))
      ("$W \leq \nu/n$" (/ m (+ 1 e m)) (>= (/ nu (+ 1 e m)) W))
      ("$\nu \geq K/(k - 1)$" (/ 1 (^ (+ 1 e m) 2)) (>= (* e nu) K))
      (square (/ nu (* (^ (+ 1 e m) 2) (+ 2 e m))) (square 1))))
  (step "The constants are $L$, $l$ and $\mu_2$, and the steps at most $1/L$ and $1/l$. $N_1$,
    $N_2$ and $N_3$ are the noise's squares, of order $\tau^2$. So one step is the first
    inequality at $\tau = c/n$, with $K/n^2$. Expectations are linear."))

(derivation def:ERM.continuous-states/instead ; v = Var(V | s, a), h the leverage, R its row's other squares
  (real r q m1 v h R d M H S) (nonnegative beta)
  (steps
    (step (= (expectation m1 (+ (^ m1 2) v) (fn (x) (^ (- (+ r (* beta x)) q) 2)))
             (+ (^ (- (+ r (* beta m1)) q) 2) (* (^ beta 2) v))))
    (step (= (* v (+ (^ (- 1 h) 2) R)) (* v (- 1 h)))
      ("the hat matrix is a projection" v (= (+ (^ h 2) R) h)))
    (step (>= (* d M) S)
      ("$\mathrm{Var}_i \leq \max \mathrm{Var}$, weighted by leverages" 1 (>= (* M H) S))
      ("leverages add up to $d$" M (= d H))))
  (step "With $\bar\zeta = V$ at every row the correction is 0. Otherwise it is $\beta^2$ times
    the squared residuals, whose mean is the sum of $(1 - h_i) \mathrm{Var}_i$ as the $s'$ are
    independent."))

(derivation lem:erm_ddc_quant_identification/instead
  ; n = |Q - Q*|, x = |lambda|, y = |1_a e|, s = kappa/sqrt(p_A), X the excess risk
  (real X) (nonnegative n x y s) (positive m)
  (steps (step (>= (* (+ (^ s 2) (/ (^ (+ s 1) 2) m)) X) (^ n 2))
    ("$\text{excess} \geq m |\lambda|^2 + |1_a e|^2$" (+ (^ s 2) (/ (^ (+ s 1) 2) m))
      (>= X (+ (* m (^ x 2)) (^ y 2))))
    ("$|Q - Q^*| \leq |\lambda| + \kappa |\lambda_a + e|$" (+ (* (+ 1 s) x) (* s y) n)
      (>= (+ (* (+ 1 s) x) (* s y)) n))
    (square (/ 1 m) (square (- (* (+ 1 s) y) (* s m x))))))
  (step "$\mathrm{KL} \geq m |\lambda|^2$ as $(\exp(t) - 1 - t)/t^2$ rises with $t$; $Q - Q^* =
    \lambda - R (\lambda_a + e)$, and norms over states are at most $p_A^{-1/2}$ times those over
    pairs."))

(derivation lem:EmpLipschitz/instead ; G = |grad R|, N = |grad NLL|, y = |Psi|, z = |grad Psi|
  (real G N y) (nonnegative z M B beta)
  (steps (step (>= (* (+ 2 (* 2 M (+ 1 beta))) B) G)
    ("triangle" 1 (>= (+ N (* 2 y z)) G))
    ("$|\nabla \mathrm{NLL}| \leq 2 B$" 1 (>= (* 2 B) N))
    ("$|\Psi| \leq M$" (* 2 z) (>= M y))
    ("$|\nabla \Psi| \leq (1 + \beta) B$" (* 2 M) (>= (* (+ 1 beta) B) z))))
  (step "Of one observation; the mean of all has the same bound. grad NLL is a difference of two
    gradients of $Q$, or of means of them."))

(derivation lem:lipsSmooth.hessian-of-V/instead ; sums over actions of w = exp Q, w s, w s^2 and w t
  (real x s t S1 S2 T2) (positive S)
  (steps
    (step (= (((hess (fn (u) (exp (+ x (* s (u 0)) (* t (/ (^ (u 0) 2) 2))))) (list 0)) 0) 0)
             (* (exp x) (+ t (^ s 2)))))
    (step (= (((hess (fn (u) (log (+ S (* S1 (u 0)) (* (+ S2 T2) (/ (^ (u 0) 2) 2))))) (list 0)) 0) 0)
             (+ (/ T2 S) (- (/ S2 S) (^ (/ S1 S) 2))))))
  (step "$s$ and $t$ are the first two derivatives of $Q$ along any direction. $V$'s second
    derivative is that of the logarithm of the sum's Taylor polynomial, and $p = w/S$."))

(derivation lem:lipsSmooth.NLL-bound/instead ; S1, S2: means of the slope along a unit direction
  (real H x y S1 S2) (nonnegative B B_2)
  (steps (step (>= (+ (* 2 B_2) (^ B 2)) H)
    ("$\nabla^2 V - \nabla^2 Q_a$" 1 (>= (+ x y (- S2 (^ S1 2))) H))
    ("$|\text{mean of } \nabla^2 Q| \leq B_2$" 1 (>= B_2 x))
    ("$|\nabla^2 Q_a| \leq B_2$" 1 (>= B_2 y))
    ("$|\nabla Q| \leq B$" 1 (>= (^ B 2) S2))
    (square 1 (square S1))))
  (step "Along any direction, by the corrected Hessian of $V$; the mean over observations."))

(derivation lem:lipsSmooth.L-theta/instead ; N, y, z, h: |Hess NLL|, |Psi|, |grad Psi|, |Hess Psi|
  (real H N y x) (nonnegative z h B B_2 M beta)
  (steps (step
    (>= (+ (* 2 B_2) (^ B 2) (* 2 (^ (+ 1 beta) 2) (^ B 2))
           (* 2 M (+ (* (+ 1 beta) B_2) (* beta (^ B 2))))) H)
    ("triangle" 1 (>= (+ N (* 2 (^ z 2)) (* 2 y h)) H))
    ("$|\nabla^2 \mathrm{NLL}| \leq 2 B_2 + B^2$" 1 (>= (+ (* 2 B_2) (^ B 2)) N))
    ("$|\nabla \Psi| \leq (1 + \beta) B$" (* 2 (+ (* (+ 1 beta) B) z)) (>= (* (+ 1 beta) B) z))
    ("$|\Psi| \leq M$" (* 2 h) (>= M y))
    ("$\nabla^2 \Psi$ is $\beta \nabla^2 V - \nabla^2 Q$" (* 2 M) (>= (+ (* beta x) B_2) h))
    ("$|\nabla^2 V| \leq B_2 + B^2$" (* 2 M beta) (>= (+ B_2 (^ B 2)) x))))
  (step "Of one observation, with the mean of $V$ over the rows of its pair; then the mean of
    all."))

(derivation lem:lipsSmooth.L-zeta/instead ; share: of the rows at a pair, d = |zeta_1 - zeta_2|
  (real v x y g) (nonnegative beta portion d)
  (steps
    (step (= (- ((grad (fn (u) (* -1 portion (^ beta 2) (^ (- v (u 0)) 2))) (list x)) 0)
                ((grad (fn (u) (* -1 portion (^ beta 2) (^ (- v (u 0)) 2))) (list y)) 0))
             (* -2 portion (^ beta 2) (- x y))))
    (step (>= (* 2 (^ beta 2) d) g)
      ("a portion is at most 1" (* 2 (^ beta 2) d) (>= 1 portion))
      ("the gradients differ by this" 1 (>= (* 2 (^ beta 2) portion d) g))))
  (step "In every coordinate of $\zeta$, hence in the norm."))

; --- what to write instead, by section
; Sections 1 to 4
(derivation setup.ddc-policy-class/instead ; w = V*, v = V^pi at a state, m and n their means at s'
  (real w v m n r) (nonnegative beta)
  (steps
    (step (>= (* (- 1 beta) (- w v)) 0)
      ("$\max_a$ is at least what $\pi$ gets" 1 (>= w (+ r (* beta m))))
      ("value of $\pi$" 1 (= (+ r (* beta n)) v))
      ("$V^* - V^\pi$ is least here" beta (>= (- m n) (- w v))))
    (step (>= 0 (* (- 1 beta) (- w v)))
      ("the best policy gets $\max_a$" 1 (= (+ r (* beta m)) w))
      ("value of $\pi$" 1 (= v (+ r (* beta n))))
      ("$V^* - V^\pi$ is largest here" beta (>= (- w v) (- m n)))))
  (step "$r$ is $E[r(s, a) + \epsilon_a]$ under $\pi$, which sees $\epsilon$: that is why $\max_a$
    stands inside $E_\epsilon$. The first is for any $\pi$, the second for the one that takes the
    best $a$ at each $(s, \epsilon)$. Where rewards are bounded, $V^* - V^\pi$ is bounded below
    for any $\pi$, and above for this one. On infinitely many states least and largest may be
    approached only."))

(derivation app.value-function-discount/instead
  ; w: the sum to period n; b = beta^n; m, k: E V(s_n), E V(s_(n+1))
  (real q v w m k g) (nonnegative beta b) (positive S)
  (steps
    (step (= (- q (log (/ (exp q) S))) (log S)))
    (step (= (- v (+ w (* b g))) (* b beta k))
      ("$V$ less the sum to period $n$" 1 (= (- v w) (* b m)))
      ("equation of $V$ in period $n$" b (= m (+ g (* beta k))))))
  (step "The first is $Q^* - \log \pi^* = V^*$ at each action. Averaged under $\pi^*$, it is
    $V^*(s) = E[r + \beta V^*(s')] + H$, the equation in the second. By induction $V$ less the sum
    to period $n$ is $\beta^n E V(s_n)$, which tends to zero as $V$ is bounded. So the sum is
    $V^*$, and by Lemma logsumexp_Shannon $\log \sum \exp Q^*$ is the maximum over $q$ that the
    equation asks for."))

(derivation app.DDC-value-function/instead
  ; at (s, eps): w solves the equation, v is the sum; g the rest's mean
  (real w v m n x g) (nonnegative beta)
  (steps
    (step (= v (+ x (* beta n)))
      ("the sum without its first term" 1 (= v (+ x g)))
      ("that is $\beta$ times the sum from the next period" 1 (= g (* beta n))))
    (step (>= (* (- 1 beta) (- w v)) 0)
      ("$\max_a$ is at least what the policy gets" 1 (>= w (+ x (* beta m))))
      ("the first step" 1 (= (+ x (* beta n)) v))
      ("$w - v$ is least here" beta (>= (- m n) (- w v))))
    (step (>= 0 (* (- 1 beta) (- w v)))
      ("decisions take $\max_a$" 1 (= (+ x (* beta m)) w))
      ("the first step" 1 (= v (+ x (* beta n))))
      ("$w - v$ is largest here" beta (>= (- w v) (- m n)))))
  (step "$x$ is $r + \epsilon$ of the first action, $m$ and $n$ the means of $w$ and $v$ at $(s',
    \epsilon')$. So the sum of the decisions that the equation prescribes is $w$, and no policy
    has more. The noise is unbounded, but $w - v$ of these decisions is not, as it is $\beta (m -
    n)$, and for any policy it is bounded below. Least and largest may be approached only."))

(derivation app.Q-unique-from-choices/instead ; c, k: c(s) and its mean at s'; v the mean of V*
  (real x y q r v c k) (nonnegative beta) (positive S)
  (steps
    (step (= (- (log (/ (exp x) S)) (log (/ (exp y) S))) (- x y)))
    (step (= (/ (exp (+ x c)) (* (exp c) S)) (/ (exp x) S)))
    (step (>= (- (+ q c) (+ r (* beta (+ v k)))) (* (- 1 beta) c))
      ("Bellman equation of $Q^*$" 1 (= q (+ r (* beta v))))
      ("$c$ is largest here" beta (>= c k))))
  (step "Choices have the differences of $Q$, and $Q + c$ has the choices of $Q$, whose sum of
    exponentials is $\exp(c) S$. Then how far $Q^* + c$ misses its equation. Where $-c$ is largest
    the same is said of $-c$."))

(derivation setup.Q-star-bounded/instead ; x = sup |Q*|, v = sup |V*|, R = sup |r|, L = log |A|
  (nonnegative beta x R v L)
  (steps (step (>= (+ R (* beta L)) (* (- 1 beta) x))
    ("Bellman equation at the largest $|Q|$" 1 (>= (+ R (* beta v)) x))
    ("$|V| \leq \max |Q| + \log |A|$" beta (>= (+ x L) v))))
  (step "$x$ is finite: $Q^*$ is the limit of the Bellman operator's iterates from 0, and each of
    these has the same bound."))

(derivation thm:MagnacThesmar/instead ; x = ess sup |Q - Q*|, y the mean of |Q - Q*| at s'
  (real x y q k m n r) (nonnegative beta W p P others first)
  (steps
    ; W: the weight of states where the anchor has the chance p and moves into B with chance P
    (step (>= 0 (* beta W p P))
      ("$d^*(B) = 0$, by the flow of $d^*$" 1 (>= 0 (+ first (* beta W (+ (* p P) others)))))
      (square first (square 1))
      (square (* beta W others) (square 1)))
    (step (= (- q k) (* beta (- m n)))
      ("the anchor's equation of $Q$" 1 (= q (+ r (* beta m))))
      ("the anchor's equation of $Q^*$" -1 (= k (+ r (* beta n)))))
    (step (>= 0 (* (- 1 beta) x))
      ("$|Q - Q^*|$ is $\beta |V_Q - V_{Q^*}|$ at $s'$" 1 (>= (* beta y) x))
      ("$V_Q - V_{Q^*}$ is $Q - Q^*$, and $P$ averages" beta (>= x y))))
  (step "With equal choices $Q - Q^* = V_Q - V_{Q^*}$ is a function of $s$. As $\pi^* > 0$, the
    anchor's moves from $d^*$-almost every $s$ miss each set $B$ with $d^*(B) = 0$. So the mean at
    $s'$ is at most the essential supremum, which is finite as $Q$ and $Q^*$ are bounded. $r$ is
    read off the Bellman equation of $Q^*$. On a countable $S$ the sets with $d^*(B) = 0$ are
    those without a state of $\bar S$."))

(derivation thm:MagnacThesmar.proof-step/instead
  ; f, V and the two logs at a state; x, y as for the contraction
  (real q f v l a x y) (nonnegative beta) (positive k U p)
  (steps
    (step (>= 0 (* (- 1 beta) x))
      ("both are fixed points" 1 (>= (* beta y) x))
      ("$P$ averages" beta (>= x y)))
    (step (= q (+ f (- l a)))
      ("$\log \pi^*$ is $Q - V$" 1 (= (- q v) l))
      ("$\log \pi^*$ is $Q - V$, at the anchor" -1 (= (- f v) a)))
    (step (= (/ (* (/ (exp f) k) p) (* (/ (exp f) k) U)) (/ p U))))
  (step "$x$ is the largest difference of two fixed points of $T_f$, and $y$ its mean at $s'$. It
    is finite, as $f$ is sought among bounded functions. One exists there by Banach's theorem,
    since $r(\cdot, a_s)$ and, with $Q^*$, $\log \pi^*$ are bounded. The last: with $k =
    \pi^*(a_s)$ this $Q$ has $\exp Q(s, a) = \exp(f) \pi^*(a)/k$, so that its softmax is $\pi^*$
    again: $U$, the sum of $\pi^*$, is 1."))

(derivation eq:zeta-reparametrisation/instead ; h any number; the square of TD error less h
  (real r q h m1 m2) (positive beta)
  (steps
    (step (= (+ h q) (+ r (* beta (/ (+ (- h r) q) beta)))))
    (step (=
      (- (* 2 h (expectation m1 m2 (fn (v) (- (+ r (* beta v)) q)))) (^ h 2))
      (- (expectation m1 m2 (fn (v) (^ (- (+ r (* beta v)) q) 2)))
         (* (^ beta 2)
            (expectation m1 m2 (fn (v) (^ (- v (/ (+ (- h r) q) beta)) 2))))))))
  (joined "$\rho$ with $\zeta = (h - r + Q)/\beta$, then the two forms, for any $h$ and any
    distribution of $s'$."))

(derivation eq:BC.p-hat/instead
  (real q x) (positive S)
  (steps
    (step (= (- (log (/ (exp q) S))) (- (log S) q)))
    (step (= (- (log (/ (exp q) S)) (log (/ (exp x) S))) (- q x)))
    (step (= (/ (exp q) S) (exp (- q (log S))))))
  (step "$S$ is the sum over actions, so that $\hat p$ is positive and adds up to one. $-\log \hat
    p$ is $V - Q$, which Equation BC minimises, and its differences are those of $Q$, as Lemma
    minMLE needs. The formula is a definition: this is that it is the one which the paper uses."))

(derivation app.pi-star-ratio/instead ; S = sum exp Q(s, .), F_i(x) = exp(-exp(Q_i - x))
  (real n x) (positive S)
  (steps
    (step (= ((grad (fn (u) (* (/ (exp n) S) (exp (* -1 S (exp (- (u 0))))))) (list x)) 0)
             (* (exp (- n x)) (exp (- (exp (- n x)))) (exp (* -1 (- S (exp n)) (exp (- x))))))))
  (step "The agent takes the largest $Q(s, a) + \epsilon_a$. The chance that it is $a$ is the
    integral of $a$'s density times the others' distribution functions. The integrand is this
    derivative, of a function that rises from 0 to $\exp(Q(s, a))/S$. A location of the noise
    moves all $Q$ alike."))

(derivation sec:ERM.anchor-argmin/instead
  ; L the squared error on states of weight W, p = pi*(a_s | s) there
  (real L) (nonnegative others) (positive W p)
  (steps
    (step (>= 0 L)
      ("the mean at a minimiser is at most that at $Q^*$, which is 0" (/ 1 (* W p))
        (>= 0 (+ (* W p L) others)))
      (square (/ others (* W p)) (square 1))))
  (step "$Q^*$ has no error. The mean is one of terms that are not negative. Were $L$ above some
    number on states of weight $W > 0$, the first would fail. Conversely a $Q$ without error
    $d^*$-almost everywhere has the mean 0. On a countable $S$ the states of weight $> 0$ are
    those of $\bar S$."))

(derivation rem:BC-superset.easier/instead
  ; K = KL of a state, W its weight, R the squared residuals
  (real t l K) (nonnegative others R) (positive W p a)
  (steps
    ; KL's terms with l = log(p/pi-hat): exp(l) - 1 - l has the slope exp(l) - 1
    (step (= ((grad (fn (u) (- (exp (u 0)) 1 (u 0))) (list l)) 0) (- (exp l) 1)))
    (step (>= 0 K)
      ("a minimiser is at most the joint solution, which has 0" (/ 1 W)
        (>= 0 (+ (* W K) others R)))
      (square (/ (+ others R) W) (square 1)))
    ; the second derivative of -log p along two slopes, and that of the Bellman term where it is not
    ; convex
    (step (= (((hess (fn (u) (log (+ p (* a (exp (* t (u 0))))))) (list 0)) 0) 0)
             (/ (* p a (^ t 2)) (^ (+ p a) 2))))
    (step (= (((hess (fn (u) (^ (+ -4 (* -1/2 (log 2)) (/ (log (+ 1 (exp (u 0)))) 2)) 2))
              (list 0)) 0) 0) -7/8)))
  (step "The excess is $W \mathrm{KL}(\hat\pi \| p)$, summed over states, plus the squared
    residuals. Both parts are 0 at once where every action was taken (corrected.coordinates), so
    $\mathrm{KL} = 0$ at a minimiser. Its terms are $\hat\pi (\exp(l) - 1 - l)$, which are 0 at $l
    = 0$ alone: $p$ is $\hat\pi$. $V$'s second derivative is a variance, so $V - Q$ is convex. The
    last is the Bellman term of one state with $Q = (0, u)$, $\beta = 1/2$ and $r = -4 -
    \log(2)/2$. Imitation is no harder, as an estimate of $Q$ has a policy."))

(derivation eq:expzeta/instead ; excess: w (zeta - m1)^2 of one anchor pair, and the other pairs'
  (real z m1 m2 D) (nonnegative others) (positive w)
  (steps
    (step (= (expectation m1 m2 (fn (v) (^ (- v z) 2)))
             (+ (- m2 (^ m1 2)) (^ (- z m1) 2))))
    (step (>= 0 D)
      ("a minimiser has no excess" (/ 1 w) (>= 0 (+ (* w D) others)))
      (square (/ others w) (square 1)))
    ; with 1 too much at another pair than the anchor's, of weight w
    (step (= (* w (^ (- (+ m1 1) m1) 2)) w)))
  (step "$D = (\zeta - E V)^2$ at an anchor pair, so that $\zeta$ is the mean there. A $\zeta$
    that is the mean at the anchor pairs and 1 more at another pair minimises the restricted
    square, and not the whole."))

(derivation intro.reward-no-extra-cost/instead
  ; v the variance of V*(s'), cross the covariances of n draws
  (real r q m z2 v cross) (nonnegative beta) (positive n)
  (steps
    (step (= (expectation m z2 (fn (z) (^ (- (- q (* beta z)) r) 2))) (* (^ beta 2) (- z2 (^ m 2))))
      ("Bellman equation of $Q^*$" (- q r (* beta m)) (= q (+ r (* beta m)))))
    (step (= (* (^ beta 2) (/ (+ (* n v) cross) (^ n 2))) (/ (* (^ beta 2) v) n))
      ("draws are independent" (/ (^ beta 2) (^ n 2)) (= cross 0))))
  (step "$m$ and $z_2$ are the means of $\hat\zeta$ and of its square. The mean squared error of
    $\hat r$ is $\beta^2$ times the variance of $\hat\zeta$, so that $\hat r$ has no bias.
    $\hat\zeta$ is the mean of $n$ draws of $V^*(s')$, as in tables, and its variance that of
    their sum over $n^2$. It is 0 where $V^*(s')$ is certain. Rows are drawn independently, so
    that given $n$ the draws are too. Along one trajectory the number of visits depends on the
    moves, and this fails."))

(derivation intro.true-parameter/instead
  ; a, b, D: squared distances of u, theta and theta_0; i = (u - theta)'(theta - theta_0)
  (real i c e l) (nonnegative a b D)
  (steps
    (step (= i 0)
      ("$\theta - \theta_0$ is $\Phi' l$" 1 (= i (* l (- c e))))
      ("$\Phi u$ and $\Phi \theta$ are the same" l (= c e)))
    (step (>= D b)
      ("$|u - \theta_0|^2$" 1 (= D (+ a (* 2 i) b)))
      ("the first step" 2 (= i 0))
      (square a (square 1))))
  (step "Minimisers of the risk have the outputs of $Q^*$ (Theorem mainopt), and so have all
    $\theta$ that give these outputs. $c$ and $e$ are a pair's outputs of $u$ and $\theta$, and
    $l$ its coefficient; the products are summed over pairs. Every gradient in a linear class is a
    combination of $\Phi$'s rows. So $\theta_0$ plus such a combination is what is found, where
    descent tends to a minimiser. If $S$ is not countable, the outputs that decide are those at
    $d^*$-almost every $s$."))

(derivation asmp:realizability.evaluations/instead
  ; of a state: d its weight, D its squared gap; U the share not seen
  (nonnegative D E U M d) (real G)
  (steps
    (step (>= (* d M) (* d D)) ("$M$ is the largest squared gap" d (>= M D)))
    (step (>= (* U M) (+ E G))
      ("the states not seen, summed" 1 (>= (* U M) G))
      ("no gap where it was seen" 1 (= 0 E))))
  (step "The squared distance in $L_2(d^*)$ is $E$ over the states seen plus $G$ over the others.
    It is zero only if $Q_\theta = Q^*$ for $d^*$-almost every $s$. Theorem bothPL compares with
    the least empirical risk of the class, not with $Q^*$."))

(derivation alg:estimation1.is-GDA/instead
  ; of a row: zeta = c + z u, Q = a + s u, V = b + k u along any direction
  (real a b c k r s u v z) (positive beta N)
  (steps
    (step (= ((grad (fn (p) (- (^ (- v (+ c (* z (p 0)))) 2))) (list u)) 0)
             (* (/ N (^ beta 2))
                ((grad (fn (p) (/ (* -1 (^ beta 2) (^ (- v (+ c (* z (p 0)))) 2)) N))
                  (list u)) 0))))
    (step (let (loss (fn (p) (- (^ (- (+ r (* beta (+ b (* k (p 0))))) (+ a (* s (p 0)))) 2)
                               (* (^ beta 2) (^ (- (+ b (* k (p 0))) v) 2)))))
      (= ((grad loss (list u)) 0) (* N ((grad (fn (p) (/ (loss p) N)) (list u)) 0))))))
  (step "The ascent's term of an anchor row and $\hat f_N$'s, then the descent's; sums over rows
    are linear, and $-\log \hat p$ has the same factor $N$. With the indicator these are all rows.
    Without it the other rows' squares are constant in parameters that do not act there."))

(derivation alg:estimation_deterministic.last-line/instead ; v = V*(s') at the observed s'
  (real r q v m)
  (nonnegative beta)
  (steps (step (= (- q (* beta v)) r)
    ("Bellman equation of $Q^*$" 1 (= q (+ r (* beta m))))
    ("certain moves" beta (= m v))))
  (step "So an observed $s'$ gives $E[V(s') \mid s, a]$ without error, and $\hat r$ is $r$ if
    $\hat Q$ is $Q^*$. A pair without an observation has no $s'$ to put in."))

; Sections 5 and 6
(derivation remark.full-column-rank/instead
  (steps
    (step (= (rank (list (list 1) (list 1))) 1))
    (step (= (rank (list (list 1 0))) 1)))
  (step "The infimum over $|h| = 1$ of the largest $|h'g|$ is positive if and only if no $h$ is
    orthogonal to all $g$. That is so if and only if they span $\mathbb{R}^d$. Then $d$ of them
    are a basis, and the largest $|h'g|$ over these has a positive least value on the sphere. $J
    J' \geq \mu > 0$ if and only if the $M$ rows are independent. Two points with the gradient 1
    in $\mathbb{R}^1$ span it and are dependent. One pair with (1, 0) in $\mathbb{R}^2$ is
    independent and spans no $\mathbb{R}^2$."))

(derivation asmp:nonSingularJac.networks/instead
  ; two layers of two equal units each, tanh, at the input x
  (real x w b c k v o)
  (steps
    (step (let (slopes (grad (fn (u)
        (let (one (activated 0 (+ (* (u 0) x) (u 1))))
        (let (two (activated 0 (+ (* (u 2) x) (u 3))))
          (+ o (* (u 10) (activated 0 (+ (* (u 4) one) (* (u 5) two) (u 8))))
               (* (u 11) (activated 0 (+ (* (u 6) one) (* (u 7) two) (u 9))))))))
          (list w b w b c c c c k k v v)))
      (= (+ (^ (- (slopes 0) (slopes 2)) 2) (^ (- (slopes 1) (slopes 3)) 2)
            (^ (- (slopes 4) (slopes 5)) 2) (^ (- (slopes 4) (slopes 6)) 2)
            (^ (- (slopes 4) (slopes 7)) 2) (^ (- (slopes 8) (slopes 9)) 2)
            (^ (- (slopes 10) (slopes 11)) 2))
         0))))
  (step "The mean over all permutations of a layer has equal units in it. There $J$ has equal
    columns. The first layer has $n + 1$ different ones, and each further layer and each output
    two. So its rank is at most the number of different ones. The same for any number of units,
    layers and actions, and any activation that has a derivative. $J J' \geq \mu$ needs
    $\mathrm{rank} M$."))

(derivation exp.jacobian-condition/instead ; K dummies; two rows of J in R^1, and three in R^2
  (real K a b c d e f)
  (steps
    (step (= (+ (* 10 (+ K 1)) 10 (* 10 10) 10 (* 10 2) 2) (+ (* 10 K) 152)))
    (step (= (- (* (^ a 2) (^ b 2)) (^ (* a b) 2)) 0))
    (step (let (g (list (list a b) (list c d) (list e f)))
      (let (G (vec i 3 (vec j 3 (dot (g i) (g j)))))
        (= (+ (* (G 0 0) (- (* (G 1 1) (G 2 2)) (* (G 1 2) (G 2 1))))
              (* -1 (G 0 1) (- (* (G 1 0) (G 2 2)) (* (G 1 2) (G 2 0))))
              (* (G 0 2) (- (* (G 1 0) (G 2 1)) (* (G 1 1) (G 2 0)))))
           0)))))
  (step "$d$, and $\det(J J') = 0$ where $M$ exceeds $d$ by one; Coq has any $d < M$. Twenty
    mileages give $M \leq 40$. The counts of $M$ for $K \geq 2$, and the rank at a random start,
    are facts of data sets drawn as in the paper."))

(derivation sec:GlobalConv.g-equals-R/instead
  ; s^2 = |grad NLL|^2 in outputs, y^2 the Bellman term, N the NLL
  (real G N least r q z m1 m2 s y) (nonnegative beta) (positive a e c n B)
  (steps
    (step (= (/ (- (expectation m1 m2 (fn (v) (^ (- (+ r (* beta v)) q) 2)))
                   (* (^ beta 2) (expectation m1 m2 (fn (v) (^ (- v z) 2))))) n)
             (* (/ B n) (/ (- (^ (- (+ r (* beta m1)) q) 2) (* (^ beta 2) (^ (- z m1) 2))) B))))
    ; a minimiser of R-hat_Q inside the ball
    (step (>= 0 (^ y 2))
      ("no cancellation" (/ 1 e) (>= G (+ (* a (^ s 2)) (* e (^ y 2)))))
      ("no gradient in the outputs" (/ 1 e) (= 0 G))
      (square (/ a e) (square s)))
    (step (>= 0 (^ s 2))
      ("no cancellation" (/ 1 a) (>= G (+ (* a (^ s 2)) (* e (^ y 2)))))
      ("no gradient in the outputs" (/ 1 a) (= 0 G))
      (square (/ e a) (square y)))
    ; a minimiser with another weight c of the Bellman term, whose least sum is the NLL's least
    ; value
    (step (>= 0 (^ y 2))
      ("it minimises $\mathrm{NLL} + c L_{\mathrm{BE}}$" (/ 1 c) (>= least (+ N (* c (^ y 2)))))
      ("no NLL is below its least" (/ 1 c) (>= N least)))
    (step (>= least N)
      ("it minimises $\mathrm{NLL} + c L_{\mathrm{BE}}$" 1 (>= least (+ N (* c (^ y 2)))))
      (square c (square y))))
  (step "A row of $n = N$ rows, of which $B = N_{\mathrm{BE}}$ are the anchor's; $z = m_1$ at the
    maximum over $\zeta$. $J'g = 0$ with $J J' > 0$ says $g = 0$. By Lemma
    auto_cancellation_control $y$ and $s$ are then 0, and by Lemma NLL_PL the likelihood is least.
    So least is attained together with $y = 0$, and every minimiser has both, whatever the
    weights. Theorem bothPL holds for any weights."))

(derivation prop:linConvergence.single-stepsize/instead
  (nonnegative G) (positive l mu_2 gap) ; G = |grad_phi f|^2 where gap = max f - f is positive
  (steps (step (>= (/ (* 18 (^ l 2)) (^ mu_2 2)) 18)
    ("$f$ is PL in $\phi$" (/ (* 18 (+ l mu_2)) (* gap (^ mu_2 2))) (>= (/ G 2) (* mu_2 gap)))
    ("a step of $1/l$ gains $G/(2 l)$, and at most the gap" (/ (* 18 (+ l mu_2)) (* gap (^ mu_2 2)))
      (>= (* l gap) (/ G 2)))))
  (step "The gap is positive somewhere, as the anchor rows' square is not constant in $\phi$. Take
    a point so near a maximum that its step stays where $f$ is smooth. That these two schedules
    give the rate, with $c$ and $\gamma$ as there, is derived for
    prop:linConvergence.optimisation-rate. Yang et al.'s theorem is cited."))

(derivation prop:linConvergence.quadratic-growth/instead
  ; y: root of the gap, G = |grad|, k = (c/2)^(1/2)
  (real length) (nonnegative G D) (positive y k)
  (steps
    (step (>= (/ (^ G 2) (* 2 y)) (* k G))
      ("PL: $|\nabla|^2 / 2 \geq c (R - R^*)$" (/ G (* y (+ G (* 2 k y))))
        (>= (/ (^ G 2) 2) (* 2 (^ k 2) (^ y 2)))))
    (step (>= (^ y 2) (* (^ k 2) (^ D 2)))
      ("the root falls by $k$ a unit of length" (+ y (* k D)) (>= y (* k length)))
      ("no path is shorter than the distance" (* k (+ y (* k D))) (>= length D))))
  (step "Along the gradient flow the root of the gap falls at the rate $G^2/(2 y)$, hence by $k$ a
    unit of length. So the flow is of finite length, and stays in the sublevel set or in the
    enlarged ball. It ends where the gap is 0, in $S$. $y^2$ is the gap, and $k^2 = c/2$. $R^*$ is
    the least value where PL is assumed, to which PL refers, so that the gap falls exponentially
    along the flow."))

(derivation prop:linConvergence.strong-concavity/instead
  ; pairs of weights w >= least; D = (x - y)^2
  (real x y t) (nonnegative beta D E F G S N) (positive w least mu)
  (steps
    (step (= (- (* -1 w (^ beta 2) (^ (- t (/ (+ x y) 2)) 2))
                (/ (+ (* -1 w (^ beta 2) (^ (- t x) 2)) (* -1 w (^ beta 2) (^ (- t y) 2))) 2))
             (* 1/4 w (^ beta 2) (^ (- x y) 2))))
    (step (>= (* 1/4 w (^ beta 2) D) (* 1/4 least (^ beta 2) D))
      ("$w \geq \text{least}$" (* 1/4 (^ beta 2) D) (>= w least)))
    ; in phi: J J' >= mu gives PL, and J'J >= mu strong concavity
    (step (>= (/ G 2) (* 2 (^ beta 2) mu least N))
      ("$J J' \geq \mu$" 1/2 (>= G (* mu S)))
      ("strong concavity in outputs" mu (>= (/ S 2) (* 2 (^ beta 2) least N))))
    (step (>= (* 1/4 least (^ beta 2) E) (* 1/4 least (^ beta 2) mu F))
      ("$J'J \geq \mu$" (* 1/4 least (^ beta 2)) (>= E (* mu F))))
    ; along a direction that leaves the outputs where they are, the function is constant
    (step (= ((grad (fn (u) (* -1 w (^ beta 2) (^ (- t (+ x (* 0 (u 0)))) 2))) (list y)) 0) 0)))
  (step "One anchor row of weight $w = m_j / N$ with the mean square at $t$; summed over rows. A
    quarter of $\rho/2$ is the gain at the midpoint, so $\rho = 2 \beta^2$ least. $S$ and $N$:
    $|\nabla|^2$ in outputs and the gap; $E$, $F$: squared distances of outputs and of $\phi$. A
    square $J$ has the same eigenvalues in $J J'$ and $J'J$. If $\dim \phi > G$, $J$ has a kernel,
    and where $\phi$ fits the means no second derivative is left along it."))

(derivation prop:linConvergence.joint-smoothness/instead
  ; H: second derivative of f-hat_N, K: of beta^2 (zeta - v)^2 with v = P V_Q, along a unit
  ; direction; t and a:
  ; its lengths in theta and in zeta; y = |v'|, d = |zeta - v|, e = |v''|
  (real H K z p b g c L) (nonnegative beta t a y d e B B_2 Z)
  (steps
    (step (= (((hess (fn (u) (* (^ beta 2)
                 (^ (- (+ z (* b (u 0))) (+ p (* g (u 0)) (* c (/ (^ (u 0) 2) 2)))) 2)))
               (list 0)) 0) 0)
             (* 2 (^ beta 2) (- (^ (- b g) 2) (* (- z p) c)))))
    (step (>= (+ L (* 2 (^ beta 2) (+ (^ B 2) (* Z (+ B_2 (^ B 2))))) (* 2 (^ beta 2) (+ B 1))) H)
      ("$\hat f_N$ is $R_{\mathrm{emp}}$ less the mean of $\beta^2 (\zeta - v)^2$" 1 (>= (+ L K) H))
      ("the first step" 1 (>= (* 2 (^ beta 2) (+ (^ (+ a y) 2) (* d e))) K))
      ("$|\nabla v| \leq B$" (* 2 (^ beta 2) (+ (* 2 a) (* B t) y)) (>= (* B t) y))
      ("$|\zeta - v| \leq Z$" (* 2 (^ beta 2) e) (>= Z d))
      ("$|\nabla^2 v| \leq B_2 + B^2$" (* 2 (^ beta 2) Z) (>= (+ B_2 (^ B 2)) e))
      ("a unit direction" (* 2 (^ beta 2) (+ 1 B (^ B 2))) (= 1 (+ (^ a 2) (^ t 2))))
      (square (* 2 (^ beta 2)) (square t))
      (square (* 2 (^ beta 2) B) (square (- a t)))
      (square (* 2 (^ beta 2) (^ B 2)) (square a))))
  (step "$L = L_\theta$ bounds the Hessian of $R_{\mathrm{emp}}$, which depends on $\theta$ alone;
    the mean over anchor rows has weights of at most 1. $e$ is at most $B_2 + B^2$ times $t^2 \leq
    1$. $K$ is that derivative in size, so that the same bounds $-H$. The function $\zeta$ is one
    number for each anchor pair, over whose rows $v$ is a mean."))

(derivation lem:anchor_overlap_logit.finite-horizon/instead
  ; d = d_H(B), e and o: chances of s_H and s_0 in B
  (real d e o t nu before after) (nonnegative first W p others P) (positive H p_A)
  (steps
    (step (>= (+ first (* W (+ (* p P) others))) (* p_A W P))
      ("$\pi(a_s|s) \geq p_A$" (* W P) (>= p p_A))
      (square first (square 1))
      (square (* W others) (square 1)))
    (step (= (/ after H) (+ d (/ (- e o) H)))
      ("laws 1 to $H$ have the last for the first" (/ 1 H)
        (= after (+ before (- e o))))
      ("$d_H$ is the mean of law 0 to $H - 1$" 1 (= (/ before H) d)))
    (step (>= (* (/ 1 p_A) (+ d (/ (- e o) H))) nu)
      ("the second step" (/ 1 p_A) (= (+ d (/ (- e o) H)) t))
      ("the first step, averaged" (/ 1 p_A) (>= t (* p_A nu)))))
  (step "$W$ is the weight of a state in a period. There the anchor has the chance $p$, and moves
    into $B$ with the chance $P$. $t = \text{after}/H$ is the mean of law 1 to $H$ at $B$. What
    other states and actions bring is first and others. $\nu$ is the chance of $B$ after the
    anchor, from a state of law $d_H$."))

(derivation lem:erm_ddc_quant_identification.proof-step/instead
  ; n = |h|, x = |h - mean of h|, y = |1_a e'|, s = kappa/sqrt(p_A), X half the second variation
  (real X a b m1) (nonnegative n x y s) (positive S)
  (steps
    (step (= (/ (((hess (fn (u) (log (+ S (* a (u 0)) (* b (/ (^ (u 0) 2) 2))))) (list 0)) 0) 0) 2)
             (/ (- (/ b S) (^ (/ a S) 2)) 2)))
    (step (= (/ (((hess (fn (u) (^ (* m1 (u 0)) 2)) (list 0)) 0) 0) 2) (^ m1 2)))
    (step (>= (* (+ (^ s 2) (* 2 (^ (+ s 1) 2))) X) (^ n 2))
      ("$X = |\lambda|^2/2 + |1_a e'|^2$" (+ (^ s 2) (* 2 (^ (+ s 1) 2)))
        (= X (+ (/ (^ x 2) 2) (^ y 2))))
      ("$|h| \leq |\lambda| + \kappa |\lambda_a + e'|$" (+ (* (+ 1 s) x) (* s y) n)
        (>= (+ (* (+ 1 s) x) (* s y)) n))
      (square 2 (square (- (* (+ 1 s) y) (/ (* s x) 2))))))
  (step "$\lambda = h$ - mean of $h$ is how $\log \pi$ varies. So half the likelihood's second
    variation is half the variance of $h$ under $\pi^*$. The residual is zero at $Q^*$, and $e'$
    is how it varies. $h = \lambda - (I - \beta P_a)^{-1} (\lambda_a + e')$, and norms over states
    are at most $p_A^{-1/2}$ times those over pairs."))

; Appendix B
(derivation lem:ExpofLargerGumbel/instead ; f_1 F_2 is p times the density of the larger
  (real n k x c) (positive S)
  (steps
    (step (= (* (exp (- n x)) (exp (- (exp (- n x)))) (exp (* -1 (- S (exp n)) (exp (- x)))))
             (* (/ (exp n) S) (* S (exp (- x)) (exp (* -1 S (exp (- x))))))))
    (step (= (+ c (log (+ (exp n) (exp k)))) (+ c n (log (+ 1 (exp (- k n))))))))
  (step "So given $G_1 \geq G_2$ the larger has the density of $\mathrm{Gumbel}(\log S, 1)$, $S =
    \exp(\nu_1) + \exp(\nu_2)$, whose mean is $c + \log S$ with Euler's $c$."))

(derivation lem:ExpofLargerGumbel.proof-step/instead ; z = exp(-x), whose slope is -z
  (real x c)
  (steps
    (step (= ((grad (fn (u) (exp (- (u 0)))) (list x)) 0) (- (exp (- x)))))
    (step (= (* x (exp (- (exp (- (+ x c))))) (exp (- x)) (exp (- (exp (- x)))))
             (let (z (exp (- x))) (* (log z) (exp (* -1 (+ 1 (exp (- c))) z)) (- z))))))
  (step "$F(x + c) = \exp(-\exp(-x - c))$ and $f(x) = \exp(-x) \exp(-\exp(-x))$: the integrand is
    $\log(z) \exp(-(1 + a) z)$ times $dz/dx$. As $x$ rises from minus infinity to infinity, $z$
    falls from infinity to 0, which gives the minus sign."))

(derivation cor:GumbelMaxasProb.proof-step/instead
  (real n k l)
  (steps (step (= (exp (- (log (+ (exp k) (exp l))) n)) (/ (+ (exp k) (exp l)) (exp n)))))
  (step "The sum over $i \neq k$ has two terms here, and any number in the same way. Both sides of
    the display are one function of these. That it is $E[G_k \mid G_k = \max G_i]$ is Lemma
    ExpofLargerGumbel, corrected: the largest of the others is independent of $G_k$, with the
    location $\log \sum_{i \neq k} \exp(\nu_i)$ by Lemma GumbelMax."))

(derivation lem:logsumexp_Shannon.proof-step/instead
  ; q* = exp(x/tau)/S
  (real x) (positive S tau q)
  (steps
    (step (= ((grad (fn (u) (- (* x (u 0)) (* tau (u 0) (log (u 0)))
                               (* (- (* tau (log S)) tau) (u 0))))
              (list (/ (exp (/ x tau)) S))) 0) 0))
    (step (= (((hess (fn (u) (- (* x (u 0)) (* tau (u 0) (log (u 0))))) (list q)) 0) 0)
             (* -1 tau (/ 1 q)))))
  (step "$S$ is the sum of $\exp(x_j/\tau)$, so that $q^*$ adds up to one. $G$ and the constraint
    are sums over $i$. $G$ has no mixed derivatives and these negative ones, so it is concave. A
    stationary point of a concave Lagrangian that satisfies the constraint is the maximum. That is
    so over the faces $q_i = 0$ too, where $G$ is continuous."))

(derivation cor:occp=naiveBE.proof-step/instead
  ; of r, of a mean r' at s': R = E_d*[r], M, D the means of Q
  (real Q R D M w x g) (nonnegative beta b)
  (steps
    (step (= R (* (- 1 beta) Q))
      ("flow of the occupancy" 1 (= (- D (* beta M)) (* (- 1 beta) Q)))
      ("Bellman equation of $Q$, averaged" 1 (= R (- D (* beta M)))))
    ; d* is the sum over periods: what is left of the sum to period n
    (step (= (- Q (+ w (* b g))) (* b beta x))
      ("$Q$ less the sum to period $n$" 1 (= (- Q w) (* b D)))
      ("Bellman equation in period $n$" b (= D (+ g (* beta x))))))
  (step "$b = \beta^n$, and $g$ is the mean reward in period $n$. $D$ and $x$ are the means of $Q$
    in this period and the next. $b D$ tends to zero, as $Q$ is bounded. $1 - \beta$ times the sum
    is the mean under $d^*$, by its definition."))

(derivation sec:occupancy.conclusion/instead
  ; x, y: d^pi and d* at a pair; S, U: sums over its state's actions
  (real x y r q m n) (nonnegative beta) (positive S U)
  (steps
    (step (= (/ x S) (/ y U))
      ("$d^\pi = d^*$ at the pair" (/ 1 S) (= x y))
      ("$d^\pi = d^*$, summed over actions" (/ y (* S U)) (= U S)))
    (step (= (+ r (* beta m)) q)
      ("Bellman equation of $Q^\pi$" 1 (= (+ r (* beta n)) q))
      ("$\pi = \pi^*$ at $s'$" beta (= m n)))
    (step (= (- q (* beta m)) r)
      ("Bellman equation of $Q^\pi$" 1 (= q (+ r (* beta n))))
      ("$\pi = \pi^*$ at $s'$" (- beta) (= m n))))
  (step "$\pi$ is $d^\pi$ over its sum, where that is positive. A pair in the support leads to
    states in the support, so $\pi = \pi^*$ there. $m$ and $n$ are the means of $Q^\pi(s', a')$
    under $\pi^*$ and $\pi$. Suppose that a state $x$ that is never visited can be entered, that
    its actions differ in $Q^{\pi^*}$, and $\beta > 0$. Let $\pi$ be $\pi^*$ but for $x$, where it
    takes the best action of $Q^{\pi^*}$. It matches, and $V^\pi(x) > V^{\pi^*}(x)$, as $\pi^* >
    0$. At a pair that enters $x$ the error is $\beta P(x)$ times $V^\pi(x) - E_{\pi^*}[Q^\pi(x,
    \cdot)]$. Were that 0, $V^\pi$ would solve the equation of $\pi^*$ and be $V^{\pi^*}$. Last,
    let $s_0$ lead to $x$ and $y$ with chances of 1/2, which are never left. A $\pi$ that earns
    more than $\pi^*$ at $x$ by as much as it earns less at $y$ has no gap. It errs at both."))

; the rest
(derivation lem:minMLE/instead ; l = log(p-hat/pi*): KL's terms; of states of weight W
  (real l K x y) (nonnegative others) (positive W pi S)
  (steps
    (step (= (* pi (- (exp l) 1 l))
             (+ (- (* pi (exp l)) pi) (* pi (- (log pi) (log (* pi (exp l))))))))
    (step (= ((grad (fn (u) (- (exp (u 0)) 1 (u 0))) (list l)) 0) (- (exp l) 1)))
    (step (>= 0 K)
      ("a minimiser is at most $Q^*$, which has 0" (/ 1 W) (>= 0 (+ (* W K) others)))
      (square (/ others W) (square 1)))
    (step (= (- (log (/ (exp x) S)) (log (/ (exp y) S))) (- x y))))
  (step "Both policies add up to one, so that $\mathrm{KL}(\pi^* \| \hat p)$ is the sum of $\pi^*
    (\exp(l) - 1 - l)$, which is 0 at $l = 0$ alone. The expected likelihood exceeds its least by
    the mean of KL under $d^*$: zero if and only if KL is, for $d^*$-almost every $s$. Equal
    policies have equal log ratios, and the differences determine the policy. On a countable $S$
    the states of positive weight are those of $\bar S$."))

(derivation related.polyhedral/instead ; two actions of slopes a and b; x: the largest V* - V
  (real s t a b m1 m2 x y) (nonnegative beta)
  (steps
    (step (= (((hess (fn (u) (log (+ (exp (+ s (* a (u 0)))) (exp (+ t (* b (u 0)))))))
              (list 0)) 0) 0)
             (/ (* (exp s) (exp t) (^ (- a b) 2)) (^ (+ (exp s) (exp t)) 2))))
    (step (= (expectation m1 m2 (fn (v) (^ (- v m1) 2))) (- m2 (^ m1 2))))
    (step (>= 0 (* (- 1 beta) x))
      ("$V^*$ solves the equation, $V$ the inequality" 1 (>= (* beta y) x))
      ("$P$ averages" beta (>= x y))))
  (step "Along any direction of $(\theta, V)$ the second derivative of log sum exp is the variance
    of the slopes (E22). It is a mean of squares, so the set is convex. If two actions of a state
    $s$ differ in features or moves, it is positive where the two slopes differ. For $V$ constant
    and large no constraint binds; lower $V(s)$ until that of $s$ alone does. The boundary is
    curved there, and no polyhedron's. For its normal has entries of $V$ that add up to $1 -
    \beta$, and those of the difference of the slopes add up to 0. So some tangent has two slopes.
    If actions never differ, log sum exp is affine, and the set is a polyhedron. $V^* - V$ is at
    most $\beta$ times its mean at $s'$, as in `eq:QBellman`."))

(derivation related.policy-invariance/instead
  ; phi = p, its means at s' under P and P': m, k; D the change of r
  (real q r D v p m k) (nonnegative beta) (positive S)
  (steps
    (step (= (log (* (exp (- p)) S)) (- (log S) p)))
    (step (= (- (- q p) (+ (+ r (- (* beta m) p)) D (* beta (- v m)))) (- q (+ r D (* beta v)))))
    (step (= (+ (+ r (- (* beta m) p)) (- p (* beta k))) (+ r (- (* beta m) (* beta k))))))
  (step "Let $r' = r + \beta E_P[\phi(s')] - \phi(s)$. Where $Q$ solves the equation of $r +
    \Delta$, $Q - \phi$ solves that of $r' + \Delta$, and has the same softmax. Under $P'$ the
    reward $r'$ is that of the third step up to a potential of $P'$. The certificate of another
    policy is the check's example."))

(derivation related.linear-exception/instead
  ; a = |phi|^2, c = |P phi|^2, d = <phi, P phi> under the weights
  (real d) (nonnegative beta c) (positive a)
  (steps
    (step (>= beta (/ (* beta d) a))
      ("$|\phi - P \phi|^2 \geq 0$" (/ beta (* 2 a)) (>= (+ a c) (* 2 d)))
      ("invariant weights, and Jensen" (/ beta (* 2 a)) (>= a c)))
    ; phi = (1, 2), all weight on the first state, from which the second follows
    (step (= (/ (* beta (+ (* 1 1 2) (* 0 2 2))) (+ (* 1 1 1) (* 0 2 2))) (* 2 beta))))
  (step "The fit of $r + \beta P \phi \theta$ by least squares has the error $\beta d/a$ times
    that of $\theta$, as $V$ is in the class. For $-d$ use $|\phi + P \phi|^2$. With $2 \beta > 1$
    the errors grow without limit."))

(derivation related.necessitates-anchor/instead
  ; h = x the largest |h|, y = |P_k h| there; n, m: squares of 2-norms
  (real x y z) (nonnegative beta k n m) (positive S)
  (steps
    (step (>= (- x (* beta y)) (* (- 1 beta) x)) ("$P_k$ averages" beta (>= x y)))
    (step (>= (* S m) (* (^ k 2) n))
      ("no entry is longer than the vector" S (>= m (^ z 2)))
      ("the first step, squared" S (>= (^ z 2) (* (^ k 2) (^ x 2))))
      ("$S$ entries of at most $x$" (^ k 2) (>= (* S (^ x 2)) n))))
  (step "With weights $k$, $\sum_a k (r + \beta P_a V - V - \log \pi^*) = 0$ gives $(I - \beta
    P_k) V$, $P_k$ the moves under $k$. $k$ is $1 - \beta$ in the second step, and $z$ the entry
    of $(I - \beta P_k) h$ where $|h|$ is largest. $m$ is its squared length, $n$ that of $h$, and
    $S$ the number of states. An anchor has $k = 1$ at one action."))

(derivation rem:counterfactual-without-P/instead
  ; x = max |Q-hat - Q'|, y its mean at s'; e = max |(P-hat - P) V'|
  (real x y e q) (nonnegative beta) (positive S)
  (steps
    (step (>= (* beta e) (* (- 1 beta) x))
      ("difference of the two equations" 1 (>= (+ (* beta y) (* beta e)) x))
      ("$|V_1 - V_2| \leq x$, and $\hat P$ averages" beta (>= x y)))
    (step (= (/ (exp q) S) (exp (- q (log S))))))
  (step "Q-learning on the data ends at the solution $\hat Q$ for the frequencies $\hat P$. That
    it does, with steps that decrease, is cited. $e$ tends to zero by the law of large numbers, as
    the observations of each of finitely many pairs become many. With $x$ so does the difference
    of the policies. $\pi^* = \exp Q^*/S$ is positive, so that each pair of $\bar S \times A$ is
    seen."))

(derivation intro.infinite-actions/instead
  ; D = (pi - p)^2, ratio = pi/p; t the direction of p - pi at an action
  (real log-ratio t) (nonnegative D) (positive p ratio p_- pi A)
  (steps
    (step (>= (/ D p_-) (* p (+ (- (* ratio log-ratio) ratio) 1)))
      ("$p \geq p_-$" (/ D (* p p_-)) (>= p p_-))
      ("$D = (\pi - p)^2$" (/ 1 p) (= D (* (^ p 2) (^ (- ratio 1) 2))))
      ("$\log t \leq t - 1$" (* p ratio) (>= (- ratio 1) log-ratio)))
    (step (= (((hess (fn (u) (* -1 pi (log (+ pi (* t (u 0)))))) (list 0)) 0) 0) (/ (^ t 2) pi)))
    (step (= (* (/ 1 A) (/ (^ t 2) (* 2 pi))) (/ (^ t 2) 2))
      ("$\pi$ is uniform" (/ (^ t 2) (* 2 pi)) (= (/ 1 A) pi))))
  (step "The first, summed over actions, is $\mathrm{KL} \leq |p - \pi|^2/p_-$. The second is KL's
    second derivative at $\pi$ (its first is zero, as $t$ adds up to zero). So in the limit $|p -
    \pi|^2/2$ is $1/|A|$ times KL, and $p_-$ is at most $1/|A|$. The constants of the two results
    have $p_-$ as a factor."))

(derivation errata.linear-classes/instead ; as for corrected.pl
  (nonnegative G C Y s gap Delta) (positive mu lam)
  (steps (step (>= (/ G 2) (* mu lam (+ 1 s) gap))
    ("$J J' \geq \mu I$" 1/2 (>= G (* mu C)))
    ("$\lambda_{\min}$" (/ mu 2) (>= C (* lam Y)))
    ("$\alpha$ of every state" (* mu lam) (>= (/ Y 2) (+ gap (* s Delta))))
    ("$g - g^* \leq \Delta$" (* mu lam s) (>= Delta gap))))
  (step "$G = |\nabla_\theta|^2$, $C = |G'y|^2$, $Y = y'D y$, $s = s'm$, $\lambda$ the eigenvalue.
    The definition of $\alpha$ bounds $w \mathrm{KL}$ by $y^2/(2 w \alpha)$ at every state, and
    $y_e^2/(4b)$ is $b e^2$; the $m$-weighted sum of $w \mathrm{KL}$ is $s'm \Delta$. The share
    $s$ of a state is $w \mathrm{KL}/\Delta$ at $\theta$, and these add up to at most 1. All this
    holds for each $m$, hence with the supremum, which need not be attained, and so with the
    infimum over shares. As in corrected.pl, $g - g^*$ is the sum of $w \mathrm{KL}$ and $b
    e^2$."))

; probability, and Table 4
(derivation rem:sub-gaussian-features/instead
  ; X = an entry of u'Phi, u a unit vector, of moments V2 and V4; x = |Phi Phi'/d - I|, q = the
  ; least u'Phi Phi'u
  (real V2 V4 x q) (nonnegative d M l)
  (steps
    (step (>= (+ 1 (- l) (* 3/2 (^ l 2))) (+ 1 (* -1 l V2) (* 1/2 (^ l 2) V4)))
      ("the entries have variance 1" l (= V2 1))
      ("$E X^4 \leq 3$" (* 1/2 (^ l 2)) (>= 3 V4)))
    ; exponents of the chances that the sum of X^2 is 3 d/8 below d, with l = 1/8, and above it
    (step (= (+ (* 1/8 (- d (* 3/8 d))) (* d (- (* 3/2 (^ 1/8 2)) 1/8))) (* -3/128 d)))
    (step (>= (* 1/2 d (- 3/8 (log 11/8))) (* 3/128 d))
      (square (* d (- (* 1/2 (- 3/8 (log 11/8))) 3/128)) (square 1)))
    ; 2 x 9^M exp(-3 d/128) <= exp(-d/200)
    (step (>= (* (- 3/128 1/200) d) (+ (log 2) (* M (log 9))))
      ("$d \geq 160 M$" (- 3/128 1/200) (>= d (* 160 M)))
      ("$M \geq 1$" (- (* 160 (- 3/128 1/200)) (log 9)) (>= M 1))
      (square (- (* 160 (- 3/128 1/200)) (log 9) (log 2)) (square 1)))
    (step (>= q (/ d 4))
      ("$q/d$ is at least $1 - x$" 1 (>= q (* d (- 1 x))))
      ("a net of 1/4 misses $x$ by $x/2$ at most" (* 2 d) (>= (+ 3/8 (/ x 2)) x))))
  (step "$X$ has $E \exp(t X) \leq \exp(t^2/2)$ and variance 1, and the fourth order gives $E X^4
    \leq 3$. As $\exp(-y) \leq 1 - y + y^2/2$, $E \exp(-l X^2)$ is at most the first bound, hence
    at most $\exp(-l + 3 l^2/2)$; and $E \exp(l X^2) \leq (1 - 2 l)^{-1/2}$, at $l = 3/22$.
    Markov's inequality gives both chances. A net of 1/4 on the sphere has at most $9^M$ points,
    and all are within 3/8 but for the chance of the fourth step."))

(derivation prop:linConvergence.population-rate/instead
  ; pi = (a, b)/(a + b) and p-hat = (p, k)/(p + k) at a state, l and m the logs of their ratios; of
  ; n draws there
  (real l m v s x) (nonnegative beta R L h i j d e t f g) (positive a b p k p_- q N K B)
  (steps
    (step (>= (/ (^ (- (/ a (+ a b)) (/ p (+ p k))) 2) (* (/ p (+ p k)) (/ k (+ p k))))
              (+ (* (/ a (+ a b)) l) (* (/ b (+ a b)) m)))
      ("$\log t \leq t - 1$" (/ a (+ a b)) (>= (- (/ (/ a (+ a b)) (/ p (+ p k))) 1) l))
      ("$\log t \leq t - 1$, of the other action" (/ b (+ a b))
        (>= (- (/ (/ b (+ a b)) (/ k (+ p k))) 1) m)))
    (step (>= (* (+ p_- i) (+ p_- j)) (* p_- q)) ; p-hat exceeds p_- by i and j
      ("$\hat p$ adds up to one, as $p_-$ and $q$ do" p_- (= (+ p_- i j) q))
      (square (* i j) (square 1)))
    (step (>= 1/4 (* x (- 1 x))) (square 1 (square (- x 1/2))))
    (step (>= (/ 2 (+ 2 h)) (/ 1 (+ 1 h))) ; n = 1 + h
      (square (/ h (* (+ 1 h) (+ 2 h))) (square 1)))
    (step (>= 1 (* N d e))
      ("$(1 + N d) (1 - d)^N \leq 1$" 1 (>= 1 (* (+ 1 (* N d)) e)))
      (square e (square 1)))
    (step (>= (+ R L) (* (- 1 beta) v))
      ("equation of $\hat V$ at its largest" 1 (>= (+ R L (* beta s)) v))
      ("$\hat P$ averages" beta (>= v s)))
    (step (>= (+ (/ 1 (* 2 p_- q)) (log 2) (* (^ beta 2) (^ B 2) (+ (* 2 K) 4)))
              (+ (/ t (* 4 p_- q)) (* e (log 2)) (* (^ beta 2) (^ B 2) (+ (* K f) (* 4 g)))))
      ("$N d E[1/n; n \geq 1] \leq 2$" (/ 1 (* 4 p_- q)) (>= 2 t))
      ("$N d P(n = 0) \leq 1$" (log 2) (>= 1 e))
      ("the same of anchor rows" (* K (^ beta 2) (^ B 2)) (>= 2 f))
      ("the same of no anchor row" (* 4 (^ beta 2) (^ B 2)) (>= 1 g))))
  (step "$q$ is $1 - p_-$. Draws are independent, and the excess is the mean of KL and of the
    squared residuals. The latter can be 0 for any $\hat p$, so that $\hat p$ is the frequency
    brought within the bounds. Given $n$, the frequency has the mean squared error $x (1 - x)/n$,
    and bringing it within $[p_-, 1 - p_-]$ lowers it. So KL has the mean $1/(4 p_- q n)$ at most.
    It is log 2 at most where $n = 0$ and $\hat p$ is 1/2. $E[1/(n + 1)]$ is at most $1/((N + 1)
    d)$ for a binomial $n$, and $(1 - d)(1 + d) \leq 1$ gives the fourth step. The residual at
    $\hat Q$ is $\beta (P - \hat P) \hat V$. Its square is at most $\beta^2 B^2 K$ times the sum
    over $t$ of $(P - \hat P)^2$, whose mean is at most $1/n$. Without anchor rows it is at most
    $\beta^2 (2 B)^2$. The last step is one state's part of $C$, as $R$ and $L$ bound $|r(\cdot,
    a_s)|$ and $-\log \hat p$ in $B$."))

(derivation prop:linConvergence.growing-class/instead ; the sum of the parts of K states
  (nonnegative beta N E one) (positive p_- q K B)
  (steps
    (step (>= (* K (+ (/ 1 (* 2 p_- q)) (log 2) (* (^ beta 2) (^ B 2) (+ (* 2 K) 4)))) (* N E))
      ("$N E$ is at most $K$ times the largest part" 1 (>= (* K one) (* N E)))
      ("a state's part" K
        (>= (+ (/ 1 (* 2 p_- q)) (log 2) (* (^ beta 2) (^ B 2) (+ (* 2 K) 4))) one))))
  (step "$E$ is the expected excess, and $q = 1 - p_-$. A state's part is derived for
    prop:linConvergence.population-rate, which has the same correction."))

(derivation text.bc-consistently-better/instead
  (steps
    (step (let (lead (fn (i) (* (returns-sign i) (- (returns-bc i) (returns-erm-irl i)))))
      (= (sum i 15 (if (> (lead i) 0) 1 0)) 8)))
    (step (let (lead (fn (i) (* (returns-sign i) (- (returns-bc i) (returns-erm-irl i)))))
      (= (sum i 15 (if (< (lead i) 0) 1 0)) 2)))
    ; beyond 1.48 and beyond 2.26 standard errors of 100 episodes: cell 2 ahead, and cell 0 behind
    (step (let (lead (fn (i) (* (returns-sign i) (- (returns-bc i) (returns-erm-irl i)))))
      (= (sum i 15 (if (> (^ (lead i) 2) (* (^ 37/25 2) 1/100
           (+ (^ (deviations-bc i) 2) (^ (deviations-erm-irl i) 2))))
           (^ 2 (if (> (lead i) 0) i (+ 15 i))) 0)) (+ 4 (^ 2 15)))))
    (step (let (lead (fn (i) (* (returns-sign i) (- (returns-bc i) (returns-erm-irl i)))))
      (= (sum i 15 (if (> (^ (lead i) 2) (* (^ 113/50 2) 1/100
           (+ (^ (deviations-bc i) 2) (^ (deviations-erm-irl i) 2))))
           (^ 2 (if (> (lead i) 0) i (+ 15 i))) 0)) (+ 4 (^ 2 15))))))
  (joined "Cells as in Table 4, from 0; the five that are left are equal. The power of two of each
    cell tells it, and whether BC is ahead. At the level of 5 % it takes 1.96 standard errors."))
