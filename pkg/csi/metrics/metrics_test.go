package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	k8smetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/metrics"
	providermetrics "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

func scrape(t *testing.T, r k8smetrics.KubeRegistry) string {
	t.Helper()
	w := httptest.NewRecorder()
	k8smetrics.HandlerFor(r, k8smetrics.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != 200 {
		t.Fatal(w.Body)
	}
	return w.Body.String()
}

func TestCounts(t *testing.T) {
	r := k8smetrics.NewKubeRegistry()
	m, err := metrics.New(r, func() []metrics.VCenter {
		return []metrics.VCenter{{Name: "us", Connected: true, Synced: true}, {Name: "eu", Connected: true}, {Name: "eu"}}
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Call("CreateVolume", "OK", 2*time.Second)
	m.Operation("us", "attach", "ok", 200*time.Millisecond)
	for i := range 2 * providermetrics.MaxMethods {
		m.VCenterCall("us", fmt.Sprint("Method", i), "ok", time.Millisecond)
	}
	text := scrape(t, r)
	for _, line := range []string{
		`vsphere_csi_operations_seconds_bucket{grpc_status_code="OK",method_name="CreateVolume",le="2.5"} 1`,
		`vsphere_csi_operations_seconds_bucket{grpc_status_code="OK",method_name="CreateVolume",le="1"} 0`,
		`vsphere_csi_volume_operations_seconds_count{operation="attach",result="ok",vcenter="us"} 1`,
		`vsphere_csi_vcenter_calls_total{method="Method0",result="ok",vcenter="us"} 1`,
		fmt.Sprintf(`vsphere_csi_vcenter_calls_total{method="other",result="ok",vcenter="us"} %d`, providermetrics.MaxMethods),
		`vsphere_csi_vcenter_connected{vcenter="eu"} 1`,
		`vsphere_csi_vcenter_synced{vcenter="eu"} 0`,
		`vsphere_csi_vcenter_synced{vcenter="us"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
	problems, err := testutil.NewPromLinter(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
	if _, err := metrics.New(r, nil); err == nil {
		t.Error("a second one was taken")
	}
}

// Without metrics nothing is counted, with no other difference.
func TestNil(t *testing.T) {
	var m *metrics.Metrics
	m.Call("CreateVolume", "OK", time.Second)
	m.Operation("us", "attach", "ok", time.Second)
	m.VCenterCall("us", "Login", "ok", time.Second)
}
