package api

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/fault/faulttest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// What makes no sense is refused in words, before anything is touched.
func TestRefused(t *testing.T) {
	w := faulttest.Start(t, source)
	for _, tc := range []struct {
		kind   string
		params set
		code   string
		want   string
	}{
		{"vcenter.latency", set{"methods": "FindAlByUuid"}, "invalid", `methods[0]: unknown method "FindAlByUuid": did you mean FindAllByUuid?`},
		{"vcenter.latency", set{"delay": "1s", "jitter": "2s"}, "invalid", `latency.jitter: 2s is not between 0 and the delay, 1s`},
		{"vcenter.unavailable", set{"code": "200"}, "invalid", `status.code: 200 is not between 400 and 599`},
		{"vcenter.soap-fault", set{"fault": "NoPermision"}, "invalid", `fault.type: unknown fault "NoPermision": did you mean NoPermission?`},
		{"vcenter.rest-error", set{"error": "NOT_FOND"}, "invalid", `restError.type: unknown error "NOT_FOND": did you mean NOT_FOUND?`},
		{"vcenter.throttled", set{"rate": "0"}, "invalid", `throttle.rate: 0 is not a positive number`},
		{"vcenter.session-cap", set{"sessions": "0"}, "invalid", `sessions: a vCenter without any is vcenter.unavailable`},
		{"vcenter.watch-truncated", set{"objects": "0"}, "invalid", `objects: must be at least 1`},
		{"vcenter.permission-missing", set{"datacenter": "dceu"}, "not-found", `vCenter us has no datacenter "dceu"`},
		{"vcenter.permission-missing", set{"account": "nobody"}, "not-found", `vCenter us has no account "nobody"`},
		{"vcenter.password-rotated", set{"tell": "1s"}, "unsupported", `tell: there is no cluster here, and no Secret`},
	} {
		r := w.Refused(t, Kinds(), fault.Request{Kind: tc.kind, On: faulttest.On("us"), Params: tc.params})
		message := r.Message
		if _, behind, ok := strings.Cut(message, `"us": `); ok {
			message = behind
		}
		if d := cmp.Diff([]string{tc.code, tc.want}, []string{r.Code, message}); d != "" {
			t.Errorf("%s %v: %s", tc.kind, tc.params, d)
		}
	}
	v, _ := w.VCenter("us")
	if err := v.Gate().Set(t.Context(), gate.Mode{State: gate.Down}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"vcenter.down", "vcenter.restart", "vcenter.certificate-expired"} {
		if r := w.Refused(t, Kinds(), fault.Request{Kind: kind, On: faulttest.On("us")}); r.Code != "conflict" || r.Try != "vsphere-sandbox vcenter up us" {
			t.Errorf("%s: %+v", kind, r)
		}
	}
	if rules := v.Gate().Rules(); len(rules) > 0 {
		t.Errorf("rules are left: %+v", rules)
	}
}

// The Secret gets the new password after the requested delay, and the old one at the end.
func TestPasswordIsReported(t *testing.T) {
	t.Run("where it listens", func(t *testing.T) { passwordIsReported(t, "") })
	t.Run("where pods reach it", func(t *testing.T) { passwordIsReported(t, "10.96.0.40") })
}

// passwordIsReported has the keys of the Secret begin with host; empty: with where the vCenter listens.
func passwordIsReported(t *testing.T, host string) {
	w := faulttest.Start(t, source)
	v, _ := w.VCenter("us")
	old := v.Password()
	if host == "" {
		host = v.Host()
	} else {
		w.Ground.Host = func(vcenter string) string { return map[string]string{"us": host}[vcenter] }
	}
	w.Ground.Cluster = faulttest.NewCluster(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "vsphere-cloud-secret"},
		Data:       map[string][]byte{host + ".username": []byte(v.User()), host + ".password": []byte(old)},
	})
	secrets := w.Ground.Cluster.Client().CoreV1().Secrets("kube-system")
	watch, err := secrets.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	reported := func(want string) {
		t.Helper()
		late := time.After(10 * time.Second)
		for {
			select {
			case e := <-watch.ResultChan():
				if string(e.Object.(*corev1.Secret).Data[host+".password"]) == want {
					return
				}
			case <-late:
				t.Fatal("the Secret is not told")
			}
		}
	}
	lease := w.Inject(t, Kinds(), fault.Request{Kind: "vcenter.password-rotated", On: faulttest.On("us"), Params: set{"tell": "10ms"}})
	if v.Password() == old {
		t.Error("the password is the old one")
	}
	reported(v.Password())
	w.Heal(t, lease.ID)
	reported(old)
	if v.Password() != old {
		t.Error("the old password is not back")
	}
}

// Some of the calls are hit, and only so many.
func TestShareAndCount(t *testing.T) {
	w := faulttest.Start(t, source)
	c := logged(t, w, "us", agentCCM)
	count := func() (failed int) {
		for range 40 {
			if c.askSOAP(t.Context(), "us") != nil {
				failed++
			}
		}
		return failed
	}
	lease := w.Inject(t, Kinds(), fault.Request{Kind: "vcenter.unavailable", On: faulttest.On("us"), Params: set{"share": "50%"}, Seed: 7})
	if n := count(); n < 5 || n > 35 {
		t.Errorf("%d of 40 calls failed", n)
	}
	w.Heal(t, lease.ID)
	w.Inject(t, Kinds(), fault.Request{Kind: "vcenter.unavailable", On: faulttest.On("us"), Params: set{"count": "3"}})
	if n := count(); n != 3 {
		t.Errorf("%d calls failed", n)
	}
}

// A node's watch is the CCM's, and only its waits.
func TestNodeWatch(t *testing.T) {
	w := faulttest.Start(t, source)
	w.Inject(t, Kinds(), fault.Request{Kind: "vcenter.soap-fault", On: faulttest.On("us"), Params: set{"client": "node-watch"}})
	if err := call(t.Context(), w, "us", agentCCM); err != nil {
		t.Error(err)
	}
	v, _ := w.VCenter("us")
	want := gate.Match{Client: "*cloud-provider*", Methods: watchMethods()}
	if d := cmp.Diff(want, v.Gate().Rules()[0].Rule.Match); d != "" {
		t.Error(d)
	}
}
