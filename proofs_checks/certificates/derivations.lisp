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
  (joined "The operator, then the error, for any distribution of s'."))

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
  (joined "The decomposition for any distribution; a world whose TD minimiser has Bellman error 1/32."))

(derivation eq:biconjugate
  (real x h)
  (steps
    (step (>= (^ x 2) (- (* 2 x h) (^ h 2))) (square 1 (square (- x h))))
    (step (= (- (^ x 2) (- (* 2 x h) (^ h 2))) (^ (- x h) 2))))
  (joined "Zero at h = x, the mean TD error, and nowhere else."))

(derivation eq:SBEED
  (real r q rho m1 m2) (nonnegative beta)
  (steps (step (=
    (expectation m1 m2 (fn (v) (- (^ (- (+ r (* beta v)) q) 2) (^ (- (+ r (* beta v)) rho) 2))))
    (- (^ (- (+ r (* beta m1)) q) 2) (^ (- rho (+ r (* beta m1))) 2)))))
  (joined "So rho = TQ is the one maximiser."))

(derivation lem:OurBiconj.a
  (real r q z m1 m2) (nonnegative beta)
  (steps (step (=
    (- (expectation m1 m2 (fn (v) (^ (- (+ r (* beta v)) q) 2)))
       (* (^ beta 2) (expectation m1 m2 (fn (v) (^ (- v z) 2)))))
    (- (^ (- (+ r (* beta m1)) q) 2) (* (^ beta 2) (^ (- z m1) 2))))))
  (joined "D(Q) is the deviation at zeta = E V."))

(derivation lem:OurBiconj.b
  (real r q z m1 m2) (nonnegative beta)
  (steps
    (step (>= (expectation m1 m2 (fn (v) (^ (- v z) 2))) (expectation m1 m2 (fn (v) (^ (- v m1) 2))))
      (square 1 (square (- z m1))))
    (step (= (- q (* beta z)) r)
      ("Bellman equation" 1 (= q (+ r (* beta m1))))
      ("zeta* is stationary" (/ (- beta) 2)
        (= ((grad (fn (u) (expectation m1 m2 (fn (v) (^ (- v (u 0)) 2)))) (list z)) 0) 0))))
  (joined "zeta* is the mean of V*; then Q* = r + beta zeta*."))

(derivation def:ERM.finite-states
  (real r q s1 s2) (nonnegative beta) (positive n) ; sums of V and V^2 over the n rows of a pair
  (steps (step (=
    (- (+ (* n (^ (- r q) 2)) (* 2 beta (- r q) s1) (* (^ beta 2) s2))
       (* (^ beta 2) (- s2 (/ (^ s1 2) n))))
    (* n (^ (- (+ r (/ (* beta s1) n)) q) 2)))))
  (joined "For each pair; zeta-bar is the mean s1/n."))

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
  (joined "Value, slope at zeta = V(s'), and the reward."))

; --- the softmax and the entropy
(derivation eq:softmax-lower-bound
  (nonnegative S) (positive A M m u) ; u/S >= m/(A M) without its denominators
  (steps (step (>= (* A M u) (* m S))
    ("u >= exp(Q_-)" (* A M) (>= u m))
    ("sum <= |A| exp(Q_+)" m (>= (* A M) S))))
  (step "u/S >= m/(A M), any |A|."))

(derivation eq:KL-chi-square ; D = (pi - p)^2, ratio = pi/p
  (real log-ratio) (nonnegative D) (positive p ratio p_-)
  (steps
    (step (>= (/ D p_-) (* p (+ (- (* ratio log-ratio) ratio) 1)))
      ("p >= p_-" (/ D (* p p_-)) (>= p p_-))
      ("D = (pi - p)^2" (/ 1 p) (= D (* (^ p 2) (^ (- ratio 1) 2))))
      ("log t <= t - 1" (* p ratio) (>= (- ratio 1) log-ratio)))
    ; t - 1 - log t is 0 at 1, and has this derivative
    (step (= ((grad (fn (t) (- (t 0) 1 (log (t 0)))) (list ratio)) 0) (/ (- ratio 1) ratio))))
  (step "Summed over actions with t = pi/p: the terms of KL, as both add up to one."))

(derivation rem:BC-superset
  (real x y) (nonnegative beta) ; x = max c, y = E c(s')
  (steps (step (>= (- x (* beta y)) (* (- 1 beta) x)) ("x is the largest" beta (>= x y))))
  (step "At the largest c, or for -c."))

; --- contraction, coercivity, overlap
(derivation thm:MagnacThesmar.contraction
  (real x y) (nonnegative beta P) ; y = sum p d, x = max |d|
  (steps (step (>= (* beta x) (* beta y))
    ("P adds up to one" (* beta x) (= 1 P))
    ("f_1 - f_2 <= x" beta (>= (* x P) y))))
  (step "y = sum p d, x = max |d|."))

(derivation lem:bellman_shift_coercivity
  (real agree whole x) (nonnegative beta S) (positive m n) ; agree = sum_x P_x s_x s_j
  (steps
    (step (>= (* m (- 1 (* beta agree))) (* (- 1 beta) m))
      ("signs agree at most wholly" (* beta m) (>= 1 agree)))
    ; n entries have the sum whole and the sum of squares S; x is one more
    (step (>= (* (+ n 1) (+ S (^ x 2))) (^ (+ whole x) 2))
      ("the same for n entries" (+ 1 (/ 1 n)) (>= (* n S) (^ whole 2)))
      (square (/ 1 n) (square (- whole (* n x))))))
  (step "s'(E - beta T)'u >= (1 - beta)|u|_1 term by term, s = sign u; |w|_2 >= |w|_1/sqrt(X) by
    induction, |u|_1 >= |u|_2, and a block's mean has 1/sqrt(A) of the length."))

(derivation lem:anchor_overlap_logit
  (nonnegative beta first others S P) (positive p p_A A M m u) ; a state of weight S, a target y
  (steps
    (step (>= (+ first (* beta S (+ (* p P) others))) (* beta p_A S P))
      ("pi(a_s|s) >= p_A" (* beta S P) (>= p p_A))
      (square first (square 1))
      (square (* beta S others) (square 1)))
    (step (>= (* A M u) (* m S))
      ("u >= exp(Q_-)" (* A M) (>= u m))
      ("sum <= |A| exp(Q_+)" m (>= (* A M) S))))
  (step "Summed over s."))

; --- Polyak-Lojasiewicz
(derivation eq:abc-inequality
  (real a b c d) (positive kappa) ; |a|^2, |b|^2, |c|^2 and <a, b>; lead is 1 - 1/(2 (1 + kappa^2))
  (steps (step
    (>= (+ a (* 2 d) b c) (+ (/ a (* 2 (+ 1 (^ kappa 2)))) (/ c 2)))
    ("|b| <= kappa |c|" (/ 1 (* 2 (^ kappa 2))) (>= (* (^ kappa 2) c) b))
    ("|lead a + b|^2 >= 0" (/ (* 2 (+ 1 (^ kappa 2))) (+ 1 (* 2 (^ kappa 2))))
      (>= (+ (* (^ (/ (+ 1 (* 2 (^ kappa 2))) (* 2 (+ 1 (^ kappa 2)))) 2) a)
             (* 2 (/ (+ 1 (* 2 (^ kappa 2))) (* 2 (+ 1 (^ kappa 2)))) d) b) 0))
    ("|b|^2 >= 0" (/ 1 (* 2 (^ kappa 2) (+ 1 (* 2 (^ kappa 2))))) (>= b 0))))
  (step "Any dimension: only lengths and one inner product occur."))

(derivation lem:BE_PL ; G, C, W: |grad|^2, |A'..|^2, |W Psi|^2
  (nonnegative G C W L) (positive mu gamma omega_- omega_+ omega)
  (steps
    (step (>= (^ omega 2) (* (/ (^ omega_- 2) omega_+) omega))
      ("omega >= omega_-" omega (>= omega omega_-))
      ("omega_+ >= omega_-" (/ (* omega omega_-) omega_+) (>= omega_+ omega_-)))
    (step (>= (/ G 2) (* 2 mu (^ gamma 2) (/ (^ omega_- 2) omega_+) L))
      ("J J' >= mu I" 1/2 (>= G (* mu C)))
      ("coercivity" (/ mu 2) (>= C (* 4 (^ gamma 2) W)))
      ("sum omega^2 Psi^2 >= ratio L_BE" (* 2 mu (^ gamma 2))
        (>= W (* (/ (^ omega_- 2) omega_+) L)))))
  (step "G, C, W: |grad|^2, |A'..|^2, |W Psi|^2."))

(derivation lem:NLL_PL ; S = sum omega^2 D, N the gap; d = (pi - p)^2 of an action, ratio = pi/p
  (real log-ratio) (nonnegative G S N D K d) (positive mu p ratio p_- omega_- omega)
  (steps
    (step (>= (* (^ omega 2) D) (* p_- omega_- omega K))
      ("omega >= omega_-" (* omega D) (>= omega omega_-))
      ("p_- KL <= |p - pi|^2" (* omega omega_-) (>= D (* p_- K))))
    (step (>= (/ G 2) (* 1/2 mu p_- omega_- N))
      ("J J' >= mu I" 1/2 (>= G (* mu S)))
      ("states" (/ mu 2) (>= S (* p_- omega_- N))))
    (step (>= (/ d p_-) (* p (+ (- (* ratio log-ratio) ratio) 1)))
      ("p >= p_-" (/ d (* p p_-)) (>= p p_-))
      ("d = (pi - p)^2" (/ 1 p) (= d (* (^ p 2) (^ (- ratio 1) 2))))
      ("log t <= t - 1" (* p ratio) (>= (- ratio 1) log-ratio))))
  (step "S = sum omega^2 D, N the gap; the last step is that of the entropy's bound."))

(derivation lem:auto_cancellation_control ; N = |grad NLL|^2; the first part is the inequality of abc
  (nonnegative T-part N C W L) (positive kappa gamma omega_- omega_+)
  (steps (step
    (>= T-part (+ (/ N (* 2 (+ 1 (^ kappa 2)))) (* 2 (^ gamma 2) (/ (^ omega_- 2) omega_+) L)))
    ("abc" 1 (>= T-part (+ (/ N (* 2 (+ 1 (^ kappa 2)))) (/ C 2))))
    ("coercivity" 1/2 (>= C (* 4 (^ gamma 2) W)))
    ("sum omega^2 Psi^2 >= ratio L_BE" (* 2 (^ gamma 2))
      (>= W (* (/ (^ omega_- 2) omega_+) L)))))
  (step "N = |grad NLL|^2; the first assumption is eq:abc-inequality, the last step of lem:BE_PL."))

(derivation thm:bothPL ; S, N, L as in the lemmas
  (nonnegative G T-part S N L) (positive mu a_NLL a_BE c alpha p_- omega_- kappa)
  (steps
    (step (>= (/ G 2) (* c (+ N L)))
      ("J J' >= mu I" 1/2 (>= G (* mu T-part)))
      ("cancellation" (/ mu 2) (>= T-part (+ (* a_NLL S) (* a_BE L))))
      ("NLL is PL" (/ (* mu a_NLL) 2) (>= S (* 2 alpha N)))
      ("c <= mu a_NLL alpha_NLL" N (>= (* mu a_NLL alpha) c))
      ("c <= mu a_BE / 2" L (>= (/ (* mu a_BE) 2) c)))
    (step (= (* (/ (* p_- omega_-) 2) (/ 1 (* 2 (+ 1 (^ kappa 2)))))
             (/ (* p_- omega_-) (* 4 (+ 1 (^ kappa 2)))))))
  (step "S, N, L: as in the lemmas; then alpha_NLL a_NLL."))

(derivation lem:zeta_empirical_pl ; D = (zeta - mean)^2 of a group, S = |grad|^2 in outputs
  (nonnegative beta G S N D) (positive mu omega_- omega)
  (steps
    (step (>= (* 2 (^ beta 4) (^ omega 2) D) (* 2 (^ beta 2) omega_- (^ beta 2) omega D))
      ("omega >= omega_-" (* 2 (^ beta 4) omega D) (>= omega omega_-)))
    (step (>= (/ G 2) (* 2 (^ beta 2) mu omega_- N))
      ("J J' >= mu I" 1/2 (>= G (* mu S)))
      ("groups" mu (>= (/ S 2) (* 2 (^ beta 2) omega_- N)))))
  (step "D = (zeta - mean)^2 of a group, S = |grad|^2 in outputs."))

(derivation lem:finite_output_pl_transfer
  (nonnegative G S N) (positive mu alpha)
  (steps (step (>= (/ G 2) (* alpha mu N))
    ("J J' >= mu I" 1/2 (>= G (* mu S)))
    ("PL in outputs" mu (>= (/ S 2) (* alpha N)))))
  (step "grad L = J' grad phi."))

(derivation lem:NNenjoysPL.output-transform ; D = |D v|^2, N = |v|^2
  (real x) (nonnegative Q-form D N) (positive lambda slope floor)
  (steps
    (step (>= (* (^ slope 2) (^ x 2)) (* (^ floor 2) (^ x 2)))
      ("|sigma'| >= rho" (* (^ x 2) (+ slope floor)) (>= slope floor)))
    (step (>= Q-form (* lambda (^ floor 2) N))
      ("K-tilde >= lambda I" 1 (>= Q-form (* lambda D)))
      ("entries" lambda (>= D (* (^ floor 2) N)))))
  (step "D = |D v|^2, N = |v|^2."))

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
  (joined "PL each, with constant 2; stuck at 1/2 > 0."))

(derivation thm:distributional_q_bound.algebra
  (nonnegative a b c) ; the roots of the three parts
  (steps (step (>= (^ (+ a b c) 2) (+ (^ a 2) (^ b 2) (^ c 2)))
    (square (* 2 a b) (square 1)) (square (* 2 b c) (square 1)) (square (* 2 a c) (square 1))))
  (step "a, b, c: the roots of the three parts."))

(derivation lem:sharingsol
  (real f g least_f least_g)
  (steps (step (>= least_f f)
    ("x minimises f + g" 1 (>= (+ least_f least_g) (+ f g)))
    ("g >= least_g" 1 (>= g least_g)))
  (step (>= least_g g)
    ("x minimises f + g" 1 (>= (+ least_f least_g) (+ f g)))
    ("f >= least_f" 1 (>= f least_f))))
  (joined "f and g at x, a minimiser of the sum, which is least_f + least_g where the sets meet."))

; --- the problem and its solution: S is the sum of exp Q(s, .), L = log S
(derivation app.Q-minus-log-policy
  (real q) (positive S)
  (steps (step (= (- q (log (/ (exp q) S))) (log S))))
  (joined "S is the sum of exp Q(s, a) over a, whose logarithm V is by definition."))

(derivation setup.softmax-policy ; q is any policy at s, p the softmax of x there
  (real x L K W U) (positive S q)
  (steps
    (step (= (* q (- x (log q))) (+ (* q (log S)) (* q (log (/ (/ (exp x) S) q))))))
    (step (= (let (p (/ (exp x) S)) (* p (- x (log p)))) (* (/ (exp x) S) (log S))))
    ; K = sum q log(p/q), U = sum p, W = sum q
    (step (>= L (+ (* W L) K))
      ("log t <= t - 1, summed" 1 (>= (- U W) K))
      ("p adds up to one" 1 (= 1 U))
      ("q adds up to one" (- L 1) (= 1 W))))
  (step "The terms of <q, x> + H(q), summed over actions, then their value at p and at any q. That a
    policy which is best at each s for x = r + beta E V* is optimal is dynamic programming."))

(derivation lem:logsumexp_Shannon
  (real x L K W U) (positive S q tau)
  (steps
    (step (= (- (* q x) (* tau q (log q)))
             (+ (* tau q (log S)) (* tau q (log (/ (/ (exp (/ x tau)) S) q))))))
    (step (= (let (p (/ (exp (/ x tau)) S)) (- (* p x) (* tau p (log p))))
             (* tau (/ (exp (/ x tau)) S) (log S))))
    (step (>= (* tau L) (+ (* tau W L) (* tau K)))
      ("log t <= t - 1, summed" tau (>= (- U W) K))
      ("p adds up to one" tau (= 1 U))
      ("q adds up to one" (* tau (- L 1)) (= 1 W))))
  (step "As for the policy; equality holds where log t = t - 1, at q = p alone."))

(derivation eq:QBellman ; y = E |V_1 - V_2|, x = max |Q_1 - Q_2|
  (real x y c) (nonnegative beta) (positive S)
  (steps
    (step (= (log (* (exp c) S)) (+ c (log S))))
    (step (>= 0 (* (- 1 beta) x))
      ("both solve the equation" 1 (>= (* beta y) x))
      ("|V_1 - V_2| <= x, and P averages" beta (>= x y))))
  (step "V(Q + c) = V(Q) + c and log rises, so |V_1 - V_2| <= |Q_1 - Q_2|; beta < 1, so x = 0. That
    a solution exists is Banach's theorem."))

(derivation sec:DDCIRLequiv ; c is the shift of Q, d = delta + gamma the mean of the noise, m = E V*
  (real q r m c d) (nonnegative beta) (positive S)
  (steps
    (step (= (log (* (exp c) S)) (+ c (log S))))
    (step (= (+ q c) (+ r (* beta (+ m c d))))
      ("Bellman equation of Q*" 1 (= q (+ r (* beta m))))
      ("c = beta d/(1 - beta)" 1 (= (* (- 1 beta) c) (* beta d)))))
  (step "E max(Q + eps) = V + d by Corollary GumbelMaxasProb. A shift c leaves the softmax. For another
    lambda divide by it."))

(derivation asmp:anchor.invariance
  (real v) (positive p_1 p_2 p_3)
  (steps (step (= (log (+ (* (exp v) p_1) (* (exp v) p_2) (* (exp v) p_3)))
                  (+ v (log (+ p_1 p_2 p_3))))))
  (step "Any number of actions; the sum is 1. V = r - log pi* + beta P V has a solution, and then
    r := V + log pi* - beta E V has the given values and Q* = V + log pi*."))

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
  (step "The derivative of (exp(nu_k)/S) exp(-S exp(-x)) is f_k times the F_i of the others. The
    function tends to 0 and to exp(nu_k)/S."))

(derivation cor:GumbelMaxasProb
  (real n x c) (positive S)
  (steps
    (step (= (* (exp (- n x)) (exp (- (exp (- n x)))) (exp (* -1 (- S (exp n)) (exp (- x)))))
             (* (/ (exp n) S) (* S (exp (- x)) (exp (* -1 S (exp (- x))))))))
    (step (= (+ c (log S)) (- (+ c n) (log (/ (exp n) S))))))
  (step "So the largest is independent of which it is. It has the density of Gumbel(log S, 1), whose
    mean is c + log S with Euler's c."))

; --- occupancies: D = E_d[Q^pi - f], M that of E[(Q^pi - f)(s', a')], B = E_d[T^pi f - f]
(derivation lem:telescoping/instead
  (real Q f D M B) (nonnegative beta)
  (steps (step (= (* (- 1 beta) (- Q f)) B)
    ("flow of the occupancy" -1 (= (- D (* beta M)) (* (- 1 beta) (- Q f))))
    ("Bellman equation of Q^pi, averaged" 1 (= (- D (* beta M)) B))))
  (step "d is 1 - beta times what starts at (s_0, a_0) plus beta times its own successors."))

(derivation cor:occp=naiveBE ; D and M: Q^pi and E[Q^pi(s', a')] under d*; R and r the mean rewards
  (real Q D M R r) (nonnegative beta)
  (steps (step (= (- R r) (- (+ R (* beta M)) D))
    ("flow of d*" -1 (= (- (* (- 1 beta) Q) D) (- (* beta M))))
    ("Q^pi is the value of pi" 1 (= (* (- 1 beta) Q) r))))
  (step "The flow of the occupancy as in Lemma telescoping, for d* and for d^pi."))

(derivation lem:completeMetric
  (real near far gap) ; |Q - Q_m|, |Q - Q_n|, |Q_m - Q_n| at a pair
  (nonnegative eps)
  (steps (step (>= (+ near eps) far)
    ("triangle" 1 (>= (+ near gap) far))
    ("a Cauchy sequence" 1 (>= eps gap))))
  (step "m -> infinity at each pair, with the same eps for all pairs: the limit is one in the sup
    norm, and bounded."))

; --- identification by the risk: K = E KL, x = max |Q - Q*|, y its mean at s'
(derivation thm:mainopt
  (real K U W x y) (nonnegative beta) (positive pi p)
  (steps
    (step (= (- (* pi (- (log p))) (* pi (- (log pi)))) (* pi (log (/ pi p)))))
    (step (>= K 0)
      ("log t <= t - 1, summed" 1 (>= (- W U) (- K)))
      ("both add up to one" 1 (= U W)))
    (step (>= 0 (* (- 1 beta) x))
      ("the anchor's equation at the largest difference" 1 (>= (* beta y) x))
      ("P averages" beta (>= x y))))
  (step "The excess is KL plus the anchor's squared error, both at least 0 and 0 at Q*. Where both
    are 0, Q - Q* is the same for all actions, and solves the anchor's equation."))

(derivation thm:algoEQ
  (real r q z m1 m2 K U W x y) (nonnegative beta)
  (steps
    (step (= (- (expectation m1 m2 (fn (v) (^ (- (+ r (* beta v)) q) 2)))
                (* (^ beta 2) (expectation m1 m2 (fn (v) (^ (- v z) 2)))))
             (- (^ (- (+ r (* beta m1)) q) 2) (* (^ beta 2) (^ (- z m1) 2)))))
    (step (>= K 0)
      ("log t <= t - 1, summed" 1 (>= (- W U) (- K)))
      ("both add up to one" 1 (= U W)))
    (step (>= 0 (* (- 1 beta) x))
      ("the anchor's equation at the largest difference" 1 (>= (* beta y) x))
      ("P averages" beta (>= x y)))
    (step (= (- q (* beta z)) r)
      ("Bellman equation" 1 (= q (+ r (* beta m1))))
      ("zeta* is the mean" (- beta) (= z m1))))
  (step "The maximum over zeta is the Bellman error; then as for the expected risk."))

; --- classes
(derivation lem:linPolyNonsingular
  (real a b c x y z)
  (steps
    (step (= (let (slope (grad (fn (u) (dot (list a b c) u)) (list x y z)))
        (+ (^ (- (slope 0) a) 2) (^ (- (slope 1) b) 2) (^ (- (slope 2) c) 2))) 0))
    (step (= (let (second (hess (fn (u) (dot (list a b c) u)) (list x y z)))
        (sum i 3 (sum j 3 (^ (second i j) 2)))) 0)))
  (step "Three parameters stand for any number: J is Phi, and J J' = Phi Phi' has the Gram matrix's
    eigenvalues."))

(derivation lem:NNenjoysPL.perturbation ; s = sqrt(M) C_R R, d = |J - J_0|, K = |K(theta) - K(theta_0)|
  (real K d) (nonnegative C_0 s)
  (steps (step (>= (* 2 (+ C_0 s) s) K)
    ("J J' - J_0 J_0' and |J| <= C_0 + s" 1 (>= (* (+ (* 2 C_0) s) d) K))
    ("|J - J_0| <= s" (+ (* 2 C_0) s) (>= s d))
    (square (^ s 2) (square 1))))
  (step "J J' - J_0 J_0' = J (J - J_0)' + (J - J_0) J_0', and C_J = C_0 + s."))

; --- convexity: Q = (0, t), beta = 1/2 and r = -4 - log(2)/2, at t = 0; and PL without it
(derivation sec:GlobalConv.nonconvex
  (real x)
  (steps (step (= (((hess (fn (u) (let (v (log (+ 1 (exp (u 0)))))
        (+ v (^ (+ -4 (* -1/2 (log 2)) (/ v 2)) 2)))) (list 0)) 0) 0) -5/8)))
  (joined "There is one observation of the first action, the anchor, at a state that stays. The
    likelihood is V - 0, and the residual r + V/2 - 0."))

(derivation abstract.weaker-than-strong-convexity ; G = |grad f|, d the distance to the minimiser
  (real G d x y) (nonnegative gap) (positive mu)
  (steps
    (step (>= (/ (^ G 2) 2) (* mu gap))
      ("strongly convex, at the minimiser" mu (>= (- (* G d) (* 1/2 mu (^ d 2))) gap))
      (square 1/2 (square (- G (* mu d)))))
    (step (= (let (slope (grad (fn (u) (^ (u 1) 2)) (list x y))) (/ (dot slope slope) 2))
             (* 2 (^ y 2))))
    (step (= (((hess (fn (u) (^ (u 1) 2)) (list x y)) 0) 0) 0)))
  (step "Cauchy and Schwarz bound the linear term by G d. The plane's y^2 is PL with mu = 2, and
    flat in x."))

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
  (step "A quadratic that is negative at a point has a root above it. As rho grows, one root tends
    to -(1 - beta)^2 and the other to minus infinity."))

(derivation corrected.two-time-scale ; G = g - g*, X = |grad g|^2, D = |z - P V|_b^2, k the rate
  (real H E) (nonnegative G X D beta c k) (positive tau rho nu) ; H, E: G and D after the step
  (steps (step
    (>= (* (- 1 k) (+ G (* (/ rho (* 8 (^ nu 2) tau)) D))) (+ H (* (/ rho (* 8 (^ nu 2) tau)) E)))
    ("descent with the slope's error" 1
      (>= (+ G (* -1/2 tau X) (* 2 tau (^ beta 4) (^ nu 2) D)) H))
    ("contraction of zeta" (/ rho (* 8 (^ nu 2) tau))
      (>= (* (- 1 rho) (+ D (* (/ (* 2 (^ nu 2) (^ tau 2)) rho) (+ X (* 4 (^ beta 4) (^ nu 2) D))))) E))
    ("g is PL" (/ tau 2) (>= (/ X 2) (* c G)))
    ("tau <= rho/(sqrt(48) beta^2 nu^2)" (/ D (* 16 (^ nu 2) tau))
      (>= (^ rho 2) (* 48 (^ tau 2) (^ beta 4) (^ nu 4))))
    ("k <= tau c/2" G (>= (/ (* tau c) 2) k))
    ("k <= rho/2" (* (/ rho (* 8 (^ nu 2) tau)) D) (>= (/ rho 2) k))
    (square (* 1/4 tau rho X) (square 1))
    (square (* rho tau (^ beta 4) (^ nu 2) D) (square 1))))
  (step "The two inequalities of the step come from L-smoothness on the segment and from the
    triangle inequality, squared with weights 1 + rho and 1 + 1/rho."))

(derivation corrected.coordinates
  (real r v q z m1 m2 x y) (nonnegative beta) (positive pi p)
  (steps
    (step (= (* pi (- (log p))) (+ (* pi (- (log pi))) (* pi (log (/ pi p))))))
    (step (= (- (expectation m1 m2 (fn (v) (^ (- (+ r (* beta v)) q) 2)))
                (* (^ beta 2) (expectation m1 m2 (fn (v) (^ (- v z) 2)))))
             (- (^ (- (+ r (* beta m1)) q) 2) (* (^ beta 2) (^ (- z m1) 2)))))
    ; two V with the same (l, e): x is the largest difference, y its mean at s'
    (step (>= 0 (* (- 1 beta) x))
      ("both solve (I - beta P) V = r - l_a - e" 1 (>= (* beta y) x))
      ("P averages" beta (>= x y))))
  (step "Cross-entropy is entropy plus KL, the maximum over zeta is e^2, and I - beta P is
    one-to-one, hence invertible on finitely many states."))

(derivation corrected.error-identity ; at a state; m and n: P-hat and P applied to V*, w: P-hat to V-hat
  (real r f g v h m n w) (nonnegative beta) ; f and g: log pi-hat and log pi* of the anchor; v = V*, h = V-hat
  (steps (step (= (- (- h v) (* beta (- w m))) (- (* beta (- m n)) (- f g)))
    ("equation of V-hat" 1 (= (- h (* beta w)) (- r f)))
    ("equation of V*" -1 (= (- v (* beta n)) (- r g)))))
  (step "I - beta P-hat is invertible, and Q = V + l."))

(derivation corrected.pl ; G = |grad_theta|^2, C = |G'y|^2, Y = y'Dy, s = s'm, lam the eigenvalue
  (nonnegative G C Y s gap Delta) (positive mu lam)
  (steps (step (>= (/ G 2) (* mu lam (+ 1 s) gap))
    ("J J' >= mu I" 1/2 (>= G (* mu C)))
    ("lambda_min" (/ mu 2) (>= C (* lam Y)))
    ("alpha of every state" (* mu lam) (>= (/ Y 2) (+ gap (* s Delta))))
    ("g - g* <= Delta" (* mu lam s) (>= Delta gap))))
  (step "The definition of alpha bounds w KL by y^2/(2 w alpha) at every state, and y_e^2/(4b) is
    b e^2; the m-weighted sum of w KL is s'm Delta."))

(derivation corrected.schur ; x = |lambda|, y = |eta|
  (real x y) (nonnegative k) (positive a b)
  (steps (step (>= (* (+ (/ (^ (+ 1 k) 2) a) (/ (^ k 2) (* 2 b))) (+ (* a (^ x 2)) (* 2 b (^ y 2))))
                   (^ (+ (* (+ 1 k) x) (* k y)) 2))
    (square (/ 1 (* 2 a b)) (square (- (* 2 b (+ 1 k) y) (* k a x))))))
  (step "|dQ| <= (1 + k)|lambda| + k|eta| off the constants, by the span of R; for a reset R f is f
    plus a constant."))

(derivation corrected.reward-convex ; x the least second derivative of V, y its mean at s'
  (real x y) (nonnegative beta spread-of-slopes)
  (steps (step (>= (* (- 1 beta) x) 0)
    ("V'' = variance + beta P_pi V'' at the least" 1 (= x (+ spread-of-slopes (* beta y))))
    ("P averages" beta (>= y x))
    (square spread-of-slopes (square 1))))
  (step "-log p = V - r - beta P V is summed over the data; a sum of convex V with weights u >= 0 is
    convex."))

(derivation corrected.alpha ; f = KL, s = f', Y = |p - pi|^2, B a bound of f', h: KL after a step
  (real h) (nonnegative f s Y B alpha) (positive t)
  (steps
    (step (>= (/ Y 2) (* (/ B (* 2 t)) f))
      ("|p - pi| >= f'" 1/2 (>= Y (^ s 2)))
      ("f <= t f'" (/ s (* 2 t)) (>= (* t s) f))
      ("f' >= B" (/ f (* 2 t)) (>= s B)))
    (step (>= (* (- 1 (* 2 alpha)) f) h)
      ("KL is 1/2-smooth" 1 (>= (- f Y) h))
      ("|p - pi|^2/2 >= alpha KL" 2 (>= (/ Y 2) (* alpha f)))))
  (step "B comes from |f'''| <= s f'' and two integrals (corrected.md, Theorem 3)."))

; --- what to write instead
(derivation prop:linConvergence.two-sided-PL/instead ; x = r + beta V - Q, y = V - zeta, Q + c for Q
  (real q x y c) (nonnegative beta) (positive S)
  (steps
    (step (= (- (log (* (exp c) S)) (+ q c)) (- (log S) q)))
    (step (= (((hess (fn (u) (- (^ (+ x (* (- beta 1) (u 0))) 2)
                               (* (^ beta 2) (^ (+ y (u 0)) 2)))) (list c)) 0) 0)
             (* 2 (- 1 (* 2 beta))))))
  (step "The mean over all rows, of which N_BE are the anchor's. PL of the profile and in phi are
    Theorem bothPL and Lemma zeta_empirical_pl. Yang et al.'s proof is cited."))

(derivation intro.unique-saddle/instead ; m and n: means of x = r + beta V* - Q* and y = V* - zeta*
  (real c m n m2 n2) (nonnegative beta)
  (steps (step
    (= (- (+ m2 (* 2 (- beta 1) c m) (* (^ (- beta 1) 2) (^ c 2)))
          (* (^ beta 2) (+ n2 (* 2 c n) (^ c 2))))
       (+ (- m2 (* (^ beta 2) n2)) (* (- 1 (* 2 beta)) (^ c 2))))
    ("Bellman equation" (* 2 (- beta 1) c) (= m 0))
    ("zeta* is the mean" (* -2 (^ beta 2) c) (= n 0))))
  (step "At anchor pairs, where m2 and n2 are the mean squares. Uniqueness is Theorem algoEQ."))

(derivation prop:linConvergence.optimisation-rate/instead
  ; a = g - g*, b = g - f at (theta, phi); a_1, b_1 after both steps, b_0 between them; G = |grad g|^2,
  ; X = |grad_theta f|^2, D = |grad g - grad_theta f|^2; u = l^2/mu_2, q = 1 - mu_2 tau_phi
  (real a_1 b_0 b_1 W W_1 K) (nonnegative a b G X D q N_1 N_2 N_3 e m nu) (positive mu_1 u tau)
  (steps
    (step (>= (+ (* (- 1 (/ (* mu_1 tau) 2)) (+ a (/ b 10)))
                 (* (+ 1 (/ q 10)) N_1) (* (/ q 10) N_2) (/ N_3 10))
              (+ a_1 (/ b_1 10)))
      ("g is smooth" (+ 1 (/ q 10))
        (>= (+ a (* -1/2 tau G) (* 1/2 tau D) N_1) a_1))
      ("f is smooth" (/ q 10)
        (>= (+ b (- a_1 a) (* 3/2 tau X) N_2) b_0))
      ("f is PL in phi" 1/10 (>= (+ (* q b_0) N_3) b_1))
      ("triangle" (* 3/20 q tau) (>= (+ (* 2 G) (* 2 D)) X))
      ("growth in phi" (* tau (+ 1/2 (* 7/20 q))) (>= (* 2 u b) D))
      ("g is PL" (/ tau 2) (>= (/ G 2) (* mu_1 a)))
      ("mu_1 <= L <= 2 l^2/mu_2" (* 1/10 tau b) (>= u (/ mu_1 2)))
      ("tau_phi = 18 (l/mu_2)^2 tau_theta" (* -1/20 (+ (* 5 G tau) (* 14 b tau u) (* 2 b)))
        (= q (- 1 (* 18 u tau))))
      (square (* 9/10 (^ tau 2) u (+ (* 5 G) (* 14 b u))) (square 1)))
    ; the induction at n = gamma + t, with k = mu_1 c/2 = 1 + e and n = k + m: W = a + b/10
    (step (let (n (+ 1 e m)) (>= (/ nu (+ n 1)) W_1))
      ("one step" 1
        (>= (+ (* (/ m (+ 1 e m)) W) (/ K (^ (+ 1 e m) 2))) W_1))
      ("W <= nu/n" (/ m (+ 1 e m)) (>= (/ nu (+ 1 e m)) W))
      ("nu >= K/(k - 1)" (/ 1 (^ (+ 1 e m) 2)) (>= (* e nu) K))
      (square (/ nu (* (^ (+ 1 e m) 2) (+ 2 e m))) (square 1))))
  (step "The constants are L, l and mu_2, and the steps at most 1/L and 1/l. N_1, N_2 and N_3 are the
    noise's squares, of order tau^2. So one step is the first inequality at tau = c/n, with K/n^2.
    Expectations are linear."))

(derivation def:ERM.continuous-states/instead ; v = Var(V | s, a), h the leverage, R its row's other squares
  (real r q m1 v h R d M H S) (nonnegative beta)
  (steps
    (step (= (expectation m1 (+ (^ m1 2) v) (fn (x) (^ (- (+ r (* beta x)) q) 2)))
             (+ (^ (- (+ r (* beta m1)) q) 2) (* (^ beta 2) v))))
    (step (= (* v (+ (^ (- 1 h) 2) R)) (* v (- 1 h)))
      ("the hat matrix is a projection" v (= (+ (^ h 2) R) h)))
    (step (>= (* d M) S)
      ("Var_i <= max Var, weighted by leverages" 1 (>= (* M H) S))
      ("leverages add up to d" M (= d H))))
  (step "With zeta-bar = V at every row the correction is 0. Otherwise it is beta^2 times the squared
    residuals, whose mean is the sum of (1 - h_i) Var_i as the s' are independent."))

(derivation lem:erm_ddc_quant_identification/instead
  ; n = |Q - Q*|, x = |lambda|, y = |1_a e|, s = kappa/sqrt(p_A), X the excess risk
  (real X) (nonnegative n x y s) (positive m)
  (steps (step (>= (* (+ (^ s 2) (/ (^ (+ s 1) 2) m)) X) (^ n 2))
    ("excess >= m |lambda|^2 + |1_a e|^2" (+ (^ s 2) (/ (^ (+ s 1) 2) m))
      (>= X (+ (* m (^ x 2)) (^ y 2))))
    ("|Q - Q*| <= |lambda| + kappa |lambda_a + e|" (+ (* (+ 1 s) x) (* s y) n)
      (>= (+ (* (+ 1 s) x) (* s y)) n))
    (square (/ 1 m) (square (- (* (+ 1 s) y) (* s m x))))))
  (step "KL >= m |lambda|^2 as (exp(t) - 1 - t)/t^2 rises with t; Q - Q* = lambda - R (lambda_a + e),
    and norms over states are at most p_A^(-1/2) times those over pairs."))

(derivation lem:EmpLipschitz/instead ; G = |grad R|, N = |grad NLL|, y = |Psi|, z = |grad Psi|
  (real G N y) (nonnegative z M B beta)
  (steps (step (>= (* (+ 2 (* 2 M (+ 1 beta))) B) G)
    ("triangle" 1 (>= (+ N (* 2 y z)) G))
    ("|grad NLL| <= 2 B" 1 (>= (* 2 B) N))
    ("|Psi| <= M" (* 2 z) (>= M y))
    ("|grad Psi| <= (1 + beta) B" (* 2 M) (>= (* (+ 1 beta) B) z))))
  (step "Of one observation; the mean of all has the same bound. grad NLL is a difference of two
    gradients of Q, or of means of them."))

(derivation lem:lipsSmooth.hessian-of-V/instead ; sums over actions of w = exp Q, w s, w s^2 and w t
  (real x s t S1 S2 T2) (positive S)
  (steps
    (step (= (((hess (fn (u) (exp (+ x (* s (u 0)) (* t (/ (^ (u 0) 2) 2))))) (list 0)) 0) 0)
             (* (exp x) (+ t (^ s 2)))))
    (step (= (((hess (fn (u) (log (+ S (* S1 (u 0)) (* (+ S2 T2) (/ (^ (u 0) 2) 2))))) (list 0)) 0) 0)
             (+ (/ T2 S) (- (/ S2 S) (^ (/ S1 S) 2))))))
  (step "s and t are the first two derivatives of Q along any direction. V's second derivative is
    that of the logarithm of the sum's Taylor polynomial, and p = w/S."))

(derivation lem:lipsSmooth.NLL-bound/instead ; S1, S2: means of the slope along a unit direction
  (real H x y S1 S2) (nonnegative B B_2)
  (steps (step (>= (+ (* 2 B_2) (^ B 2)) H)
    ("Hess V - Hess Q_a" 1 (>= (+ x y (- S2 (^ S1 2))) H))
    ("|mean of Hess Q| <= B_2" 1 (>= B_2 x))
    ("|Hess Q_a| <= B_2" 1 (>= B_2 y))
    ("|grad Q| <= B" 1 (>= (^ B 2) S2))
    (square 1 (square S1))))
  (step "Along any direction, by the corrected Hessian of V; the mean over observations."))

(derivation lem:lipsSmooth.L-theta/instead ; N, y, z, h: |Hess NLL|, |Psi|, |grad Psi|, |Hess Psi|
  (real H N y x) (nonnegative z h B B_2 M beta)
  (steps (step
    (>= (+ (* 2 B_2) (^ B 2) (* 2 (^ (+ 1 beta) 2) (^ B 2))
           (* 2 M (+ (* (+ 1 beta) B_2) (* beta (^ B 2))))) H)
    ("triangle" 1 (>= (+ N (* 2 (^ z 2)) (* 2 y h)) H))
    ("|Hess NLL| <= 2 B_2 + B^2" 1 (>= (+ (* 2 B_2) (^ B 2)) N))
    ("|grad Psi| <= (1 + beta) B" (* 2 (+ (* (+ 1 beta) B) z)) (>= (* (+ 1 beta) B) z))
    ("|Psi| <= M" (* 2 h) (>= M y))
    ("Hess Psi is beta Hess V - Hess Q" (* 2 M) (>= (+ (* beta x) B_2) h))
    ("|Hess V| <= B_2 + B^2" (* 2 M beta) (>= (+ B_2 (^ B 2)) x))))
  (step "Of one observation, with the mean of V over the rows of its pair; then the mean of all."))

(derivation lem:lipsSmooth.L-zeta/instead ; share: of the rows at a pair, d = |zeta_1 - zeta_2|
  (real v x y g) (nonnegative beta portion d)
  (steps
    (step (= (- ((grad (fn (u) (* -1 portion (^ beta 2) (^ (- v (u 0)) 2))) (list x)) 0)
                ((grad (fn (u) (* -1 portion (^ beta 2) (^ (- v (u 0)) 2))) (list y)) 0))
             (* -2 portion (^ beta 2) (- x y))))
    (step (>= (* 2 (^ beta 2) d) g)
      ("a portion is at most 1" (* 2 (^ beta 2) d) (>= 1 portion))
      ("the gradients differ by this" 1 (>= (* 2 (^ beta 2) portion d) g))))
  (step "In every coordinate of zeta, hence in the norm."))
