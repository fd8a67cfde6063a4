package trace_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/trace"
)

// replayed sends calls to a new vCenter and returns the differences, by method.
func replayed(t *testing.T, topology string, calls []trace.Call) (differences map[string][]string, skipped map[string]string, compared int) {
	t.Helper()
	lab := sim.Start(t, topology)
	v := lab.VCenters()[0]
	to := v.URL()
	to.User = url.UserPassword(v.User(), v.Password())
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(lab.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	differences, skipped = map[string][]string{}, map[string]string{}
	err := trace.Replay(t.Context(), calls, map[string]trace.Target{"vc": {URL: to, Transport: transport}}, func(o trace.Outcome) error {
		switch {
		case o.Skipped != "":
			skipped[o.Call.Method] = o.Skipped
		case len(o.Differences) > 0:
			differences[o.Call.Method] = append(differences[o.Call.Method], o.Differences...)
			compared++
		default:
			compared++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return differences, skipped, compared
}

func TestReplay(t *testing.T) {
	_, _, _, calls := recorded(t)
	// Another vCenter has other sessions, views, tasks, tags and references.
	other := strings.NewReplacer("trace", "other", `"w-{n}"`, `"x-{n}"`, "name: c,", "name: d,", "cluster: c", "cluster: d").Replace(small)
	differences, skipped, compared := replayed(t, other, calls)
	if len(differences) != 0 {
		t.Errorf("differences: %q", differences)
	}
	if len(skipped) != 1 || skipped["ReconfigVM_Task"] != "it has a masked secret" || compared != len(calls)-1 {
		t.Errorf("skipped %q, compared %d of %d", skipped, compared, len(calls))
	}

	// A vCenter whose VMs are off, and one that knows less, differ.
	off := strings.Replace(small, "replicas: 2", "replicas: 2, power: off", 1)
	if differences, _, _ := replayed(t, off, calls); len(differences) != 0 {
		t.Errorf("another value is a difference: %q", differences)
	}
	for i := range calls {
		if calls[i].Method == "Login" {
			calls[i].Answer.Body = strings.Replace(calls[i].Answer.Body, "<locale>en_US</locale>", "<place>en_US</place>", 1)
			calls[i].Status = http.StatusTeapot
		}
	}
	differences, _, _ = replayed(t, small, calls)
	if got := strings.Join(differences["Login"], "; "); got != "status 200, recorded 418; not there: LoginResponse/returnval/place; not recorded: LoginResponse/returnval/locale" || len(differences) != 1 {
		t.Errorf("differences: %q", differences)
	}
}
