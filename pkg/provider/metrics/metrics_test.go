package metrics_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	k8smetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/component-base/metrics/testutil"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/metrics"
)

// none is a source without vCenters.
func none() []metrics.VCenter { return nil }

func scrape(t *testing.T, h http.Handler) string {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func private(t *testing.T, source func() []metrics.VCenter) (*metrics.Metrics, k8smetrics.KubeRegistry) {
	t.Helper()
	r := k8smetrics.NewKubeRegistry()
	m, err := metrics.New(r, source)
	if err != nil {
		t.Fatal(err)
	}
	return m, r
}

func TestCounts(t *testing.T) {
	m, r := private(t, none)
	m.Call("us", "FindByUuid", "ok", 20*time.Millisecond)
	m.Call("us", "FindByUuid", "ok", 30*time.Second)
	m.Call("eu", "Login", "timeout", 10*time.Second)
	m.NSXCall("nsx", "PUT /infra/lb-pools/{id}", "ok", 20*time.Millisecond)
	m.Lookup(metrics.ByHostName, metrics.Found)
	m.Lookup("typo", metrics.Found)
	m.Confirmation(metrics.Doubt)
	m.Reload(metrics.Refused)
	const want = `
# HELP vsphere_ccm_config_reloads_total [ALPHA] Changes of the configuration, by result (applied, refused, needs_restart).
# TYPE vsphere_ccm_config_reloads_total counter
vsphere_ccm_config_reloads_total{result="applied"} 0
vsphere_ccm_config_reloads_total{result="needs_restart"} 0
vsphere_ccm_config_reloads_total{result="refused"} 1
# HELP vsphere_ccm_confirmations_total [ALPHA] Queries of all vCenters whether a VM is gone, by outcome (gone, still_there, doubt).
# TYPE vsphere_ccm_confirmations_total counter
vsphere_ccm_confirmations_total{outcome="doubt"} 1
vsphere_ccm_confirmations_total{outcome="gone"} 0
vsphere_ccm_confirmations_total{outcome="still_there"} 0
# HELP vsphere_ccm_vcenter_calls_total [ALPHA] Calls made to vCenters, by method and result (ok, error, timeout, unreachable, canceled).
# TYPE vsphere_ccm_vcenter_calls_total counter
vsphere_ccm_vcenter_calls_total{method="FindByUuid",result="ok",vcenter="us"} 2
vsphere_ccm_vcenter_calls_total{method="Login",result="timeout",vcenter="eu"} 1
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want),
		"vsphere_ccm_config_reloads_total", "vsphere_ccm_confirmations_total", "vsphere_ccm_vcenter_calls_total"); err != nil {
		t.Error(err)
	}
	text := scrape(t, k8smetrics.HandlerFor(r, k8smetrics.HandlerOpts{}))
	for _, line := range []string{
		`vsphere_ccm_vcenter_call_duration_seconds_bucket{method="FindByUuid",vcenter="us",le="0.025"} 1`,
		`vsphere_ccm_vcenter_call_duration_seconds_bucket{method="FindByUuid",vcenter="us",le="30"} 2`,
		`vsphere_ccm_nsx_calls_total{method="PUT /infra/lb-pools/{id}",nsx="nsx",result="ok"} 1`,
		`vsphere_ccm_nsx_call_duration_seconds_bucket{method="PUT /infra/lb-pools/{id}",nsx="nsx",le="0.025"} 1`,
		`vsphere_ccm_lookups_total{result="found",source="hostname"} 1`,
		`vsphere_ccm_lookups_total{result="found",source="other"} 1`,
		`vsphere_ccm_lookups_total{result="unsure",source="provider_id"} 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
}

// Gauges have the source's values at the scrape, and disappear with the vCenter.
func TestStates(t *testing.T) {
	vcs := []metrics.VCenter{
		{Name: "us", Connected: true, Reconnects: 2, Synced: true, SyncedAt: time.Unix(1000, 500e6), VMs: 42, TagsReadAt: time.Unix(2000, 0)},
		{Name: "eu"},
		{Name: "eu", Connected: true}, // a bug of the caller
	}
	_, r := private(t, func() []metrics.VCenter { return vcs })
	compare := func(want string) {
		t.Helper()
		if err := testutil.GatherAndCompare(r, strings.NewReader(want), "vsphere_ccm_vcenter_connected", "vsphere_ccm_inventory_vms",
			"vsphere_ccm_vcenter_reconnects_total", "vsphere_ccm_inventory_synced",
			"vsphere_ccm_inventory_last_sync_timestamp_seconds", "vsphere_ccm_tags_last_read_timestamp_seconds"); err != nil {
			t.Error(err)
		}
	}
	compare(`
# HELP vsphere_ccm_inventory_last_sync_timestamp_seconds [ALPHA] When the inventory of the vCenter last became complete and current, Unix time.
# TYPE vsphere_ccm_inventory_last_sync_timestamp_seconds gauge
vsphere_ccm_inventory_last_sync_timestamp_seconds{vcenter="us"} 1000.5
# HELP vsphere_ccm_inventory_synced [ALPHA] Whether the inventory of the vCenter is complete and current (1) or not (0).
# TYPE vsphere_ccm_inventory_synced gauge
vsphere_ccm_inventory_synced{vcenter="eu"} 0
vsphere_ccm_inventory_synced{vcenter="us"} 1
# HELP vsphere_ccm_inventory_vms [ALPHA] VMs in the inventory of the vCenter.
# TYPE vsphere_ccm_inventory_vms gauge
vsphere_ccm_inventory_vms{vcenter="eu"} 0
vsphere_ccm_inventory_vms{vcenter="us"} 42
# HELP vsphere_ccm_tags_last_read_timestamp_seconds [ALPHA] When the tags of the vCenter were last read completely, Unix time.
# TYPE vsphere_ccm_tags_last_read_timestamp_seconds gauge
vsphere_ccm_tags_last_read_timestamp_seconds{vcenter="us"} 2000
# HELP vsphere_ccm_vcenter_connected [ALPHA] Whether there is a working session at the vCenter (1) or not (0).
# TYPE vsphere_ccm_vcenter_connected gauge
vsphere_ccm_vcenter_connected{vcenter="eu"} 0
vsphere_ccm_vcenter_connected{vcenter="us"} 1
# HELP vsphere_ccm_vcenter_reconnects_total [ALPHA] Times the connection to the vCenter was established again.
# TYPE vsphere_ccm_vcenter_reconnects_total counter
vsphere_ccm_vcenter_reconnects_total{vcenter="eu"} 0
vsphere_ccm_vcenter_reconnects_total{vcenter="us"} 2
`)
	vcs = nil
	compare("")
}

// Names and help texts follow Prometheus conventions.
func TestNames(t *testing.T) {
	m, r := private(t, func() []metrics.VCenter {
		return []metrics.VCenter{{Name: "us", SyncedAt: time.Unix(1, 0), TagsReadAt: time.Unix(1, 0)}}
	})
	m.Call("us", "Login", "ok", time.Second)
	text := scrape(t, k8smetrics.HandlerFor(r, k8smetrics.HandlerOpts{}))
	problems, err := testutil.NewPromLinter(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p.String())
	}
}

// An API with unbounded method names does not make unbounded series.
func TestMethodsAreBounded(t *testing.T) {
	m, r := private(t, none)
	for i := range 10 * metrics.MaxMethods {
		m.Call("us", fmt.Sprint("method-", i), "ok", time.Millisecond)
	}
	m.Call("us", "method-0", "ok", time.Millisecond)
	text := scrape(t, k8smetrics.HandlerFor(r, k8smetrics.HandlerOpts{}))
	if n := strings.Count(text, "\nvsphere_ccm_vcenter_calls_total{"); n != metrics.MaxMethods+1 {
		t.Errorf("%d series", n)
	}
	for _, line := range []string{
		fmt.Sprintf(`{method="other",result="ok",vcenter="us"} %d`, 9*metrics.MaxMethods), `{method="method-0",result="ok",vcenter="us"} 2`,
	} {
		if !strings.Contains(text, "vsphere_ccm_vcenter_calls_total"+line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	m, r := private(t, func() []metrics.VCenter { return []metrics.VCenter{{Name: "us"}} })
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 100 {
				m.Call("us", fmt.Sprint("method-", (i+j)%20), "ok", time.Millisecond)
				m.Lookup(metrics.ByAddress, metrics.Unsure)
			}
			if _, err := r.Gather(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

// Without metrics nothing is counted, with no other difference.
func TestNil(t *testing.T) {
	var m *metrics.Metrics
	m.Call("us", "Login", "ok", time.Second)
	m.Lookup(metrics.ByAddress, metrics.Found)
	m.Confirmation(metrics.Gone)
	m.Reload(metrics.Applied)
}

// The registry of the process is the one that a cloud controller manager serves; it accepts one Metrics.
func TestProcess(t *testing.T) {
	m, err := metrics.New(metrics.Process(), func() []metrics.VCenter { return []metrics.VCenter{{Name: "us", VMs: 7}} })
	if err != nil {
		t.Fatal(err)
	}
	m.Confirmation(metrics.Gone)
	text := scrape(t, legacyregistry.Handler())
	for _, line := range []string{`vsphere_ccm_confirmations_total{outcome="gone"} 1`, `vsphere_ccm_inventory_vms{vcenter="us"} 7`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if _, err := metrics.New(metrics.Process(), none); err == nil {
		t.Error("a second one was taken")
	}
}

func BenchmarkCall(b *testing.B) {
	m, err := metrics.New(k8smetrics.NewKubeRegistry(), none)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m.Call("us", "FindByUuid", "ok", time.Millisecond)
	}
}
