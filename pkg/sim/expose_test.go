package sim_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/vapi/rest"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// TestGuessingIsSlow: refused logins are answered more and more slowly, over SOAP and REST; accepted ones are not.
func TestGuessingIsSlow(t *testing.T) {
	top, err := topology.Load("exposed", []byte(clonesTopology))
	if err != nil {
		t.Fatal(err)
	}
	lab := sim.StartWith(t, sim.Options{Topology: top, Vcsim: sim.Vcsim{Exposed: true}})
	v := lab.VCenters()[0]
	took := func(password string) (soapTime, restTime time.Duration) {
		u := v.URL()
		u.User = url.UserPassword(v.User(), password)
		begin := time.Now()
		if _, err := govmomi.NewClient(t.Context(), u, true); (err == nil) != (password == v.Password()) {
			t.Fatalf("a login: %v", err)
		}
		soapTime = time.Since(begin)
		begin = time.Now()
		if err := rest.NewClient(lab.Client("vc").Client).Login(t.Context(), u.User); (err == nil) != (password == v.Password()) {
			t.Fatalf("a login over REST: %v", err)
		}
		return soapTime, time.Since(begin)
	}
	first, second := took("wrong")
	third, _ := took("wrong again")
	if first < 200*time.Millisecond || second < 400*time.Millisecond || third < 800*time.Millisecond {
		t.Errorf("refused after %s, %s, %s", first, second, third)
	}
	if a, b := took(v.Password()); a > 200*time.Millisecond+third || b > 200*time.Millisecond+third {
		t.Errorf("accepted after %s, %s", a, b)
	}
}
