package parity

import (
	"flag"
	"os"
	"strconv"
	"testing"
	"time"
)

var (
	versions = flag.String("versions", "v1.34.0,v1.36.0", "the upstream releases, with commas between them")
	scale    = flag.Int("nodes", 1000, "nodes of the large scenarios, in five datacenters; 0 leaves them out")
	latency  = flag.Duration("latency", 20*time.Millisecond, "what a call to a slow vCenter takes longer")
	steady   = flag.Duration("steady", 330*time.Second, "how long calls are counted while nothing happens: longer than the period of 5 min in which cloud controller managers look at addresses")
	enabled  = flag.Bool("parity", false, "run the comparison, which takes an hour: make parity")
)

func nodesPerDatacenter() string { return strconv.Itoa(*scale / 5) }

func TestParity(t *testing.T) {
	if !*enabled {
		t.Skip("takes an hour: make parity runs it")
	}
	buildOurs(t)
	upstream, err := releases(t)
	if err != nil {
		t.Fatal(err)
	}
	all := small()
	if *scale > 0 {
		all = append(all, large()...)
	}
	for _, sc := range all {
		t.Run(sc.name, func(t *testing.T) {
			r := &result{scenario: sc}
			sides := append([]side{ours()}, upstream...)
			if sc.steady < 2*time.Minute && sc.latency == 0 {
				sides = append(sides, oursLikeUpstream())
			}
			for _, s := range sides {
				t.Run(s.name, func(t *testing.T) {
					f := run(t, sc, s)
					r.sides, r.figures = append(r.sides, s), append(r.figures, f)
				})
			}
			if t.Failed() {
				return
			}
			r.print(os.Stdout)
			r.judge(t)
		})
	}
}
