package check_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate/check"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/vcenter/guard"
)

// watched is a way to a vCenter on which every request is judged as the guard of real vCenters judges it.
type watched struct {
	mu       sync.Mutex
	requests int
	writes   []string
}

func (w *watched) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		in, err := guard.ParseIntent(r, body)
		w.mu.Lock()
		w.requests++
		if err != nil || in.Write {
			w.writes = append(w.writes, r.Method+" "+r.URL.Path+" "+in.Method)
		}
		w.mu.Unlock()
		next.ServeHTTP(rw, r)
	})
}

// TestReadOnly looks at everything, and has not one request that may change something.
func TestReadOnly(t *testing.T) {
	r := start(t, controller("--cloud-provider=vsphere"), volume("data", "[shared] kubevols/data.vmdk"), volume("gone", "[other] kubevols/gone.vmdk"),
		pod("db-0", "claim-data"), class("old", map[string]string{"datastore": "shared"}))
	r.makeDisk(t, "shared", "kubevols/data.vmdk")
	v, _ := r.VCenter("vc")
	behind := &url.URL{Scheme: "https", Host: v.Addr()}
	proxy := httputil.NewSingleHostReverseProxy(behind)
	proxy.Transport = &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	w := &watched{}
	front := httptest.NewTLSServer(w.before(proxy))
	defer front.Close()
	config, err := vcenter.FromEnvironment([]string{"GOVC_URL=" + front.URL, "GOVC_USERNAME=" + v.User(), "GOVC_PASSWORD=" + v.Password(), "GOVC_INSECURE=1"})
	if err != nil {
		t.Fatal(err)
	}
	before := len(r.client.Actions())
	report := r.run(t, func(in *check.Input) { in.VCenters, in.CSI = config, config })
	if f := found(t, report, "pv-disks"); f.Verdict != check.Fail {
		t.Errorf("%+v", f)
	}
	if w.requests < 20 {
		t.Errorf("%d requests", w.requests)
	}
	if d := cmp.Diff([]string(nil), w.writes); d != "" {
		t.Errorf("writes at the vCenter: %s", d)
	}
	for _, a := range r.client.Actions()[before:] {
		if !slices.Contains([]string{"get", "list"}, a.GetVerb()) {
			t.Errorf("%s %s in the cluster", a.GetVerb(), a.GetResource())
		}
	}
}
