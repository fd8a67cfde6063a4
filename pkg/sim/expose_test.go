package sim_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/topology"
)

// longestUnnamed is a fraction of what 20 guesses would take.
const longestUnnamed = 5 * time.Second

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
	// A session that has ended, and the login without a user name that upstream's cloud provider begins with, guess nothing.
	begin := time.Now()
	for range 10 {
		if err := session.NewManager(anonymous(t, lab, v)).Login(t.Context(), url.UserPassword("", "")); faultOf(err) != "types.InvalidLogin" {
			t.Fatalf("a login without a user name: %v", err)
		}
		ended := rest.NewClient(lab.Client("vc").Client)
		ended.SessionID("ended")
		if _, err := tags.NewManager(ended).ListCategories(t.Context()); err == nil || !strings.Contains(err.Error(), "401") {
			t.Fatalf("a session that has ended: %v", err)
		}
	}
	if took := time.Since(begin); took > longestUnnamed {
		t.Errorf("20 calls without credentials took %s", took)
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
