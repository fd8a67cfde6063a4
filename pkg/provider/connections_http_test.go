package provider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	k8smetrics "k8s.io/component-base/metrics"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/health"
)

// ask returns the status and the text of a response.
func ask(ctx context.Context, url string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// Of three connections to one vCenter, each has its own probe and its own metrics, by the name of its section: one is well, one
// names a datacenter that its account does not find, and one is refused. (kubernetes/cloud-provider-vsphere#233, #482)
func TestProbesByConnection(t *testing.T) {
	registry := k8smetrics.NewKubeRegistry()
	w := startWith(t, setup{
		topology: tenants, gates: func(*world) {}, options: func(o *Options) { o.Registry = registry },
		sections: func(w *world) string {
			v, all := w.sim.VCenters()[0], ""
			for section, rest := range map[string]string{
				"be":  "user: be@vsphere.local, password: Be-12345, datacenters: [dc-be]",
				"ux":  "user: ux@vsphere.local, password: Ux-12345, datacenters: [dc-xu]",
				"old": "user: be@vsphere.local, password: wrong",
			} {
				all += fmt.Sprintf("  %s: {server: %s, port: %d, %s}\n", section, v.Host(), v.Port(), rest)
			}
			return all
		},
	})
	server, err := health.Listen(t.Context(), health.Config{
		Address: "127.0.0.1:0", Source: w.Health, Metrics: k8smetrics.HandlerFor(registry, k8smetrics.HandlerOpts{}),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	const (
		named   = `[!]vcenter ux: datacenter "dc-xu" not found (did you mean "dc-ux"?)`
		refused = "[-]vcenter old failed: not connected: "
	)
	for path, want := range map[string]struct {
		status int
		parts  []string
	}{
		"/readyz/be":  {http.StatusOK, []string{"ok\n"}},
		"/readyz/ux":  {http.StatusOK, []string{"[+]vcenter ux ok\n", named, "readyz check passed\n"}},
		"/readyz/old": {http.StatusInternalServerError, []string{refused, "login refused", "readyz check failed\n"}},
		"/readyz":     {http.StatusInternalServerError, []string{"[+]vcenter be ok\n", "[+]vcenter ux ok\n", named, refused}},
		"/readyz/vc":  {http.StatusNotFound, []string{"no such vcenter\n"}}, // the vCenter's own name is that of no section
		"/metrics": {http.StatusOK, []string{
			`vcenter_connected{vcenter="be"} 1`, `vcenter_connected{vcenter="ux"} 1`, `vcenter_connected{vcenter="old"} 0`,
			`inventory_synced{vcenter="be"} 1`, `inventory_synced{vcenter="old"} 0`, `inventory_vms{vcenter="be"} 1`,
			`configured_names_missing{vcenter="be"} 0`, `configured_names_missing{vcenter="ux"} 1`,
			`vcenter_calls_total{method="Login",result="error",vcenter="old"}`, `vcenter_calls_total{method="Login",result="ok",vcenter="be"}`,
		}},
	} {
		eventually(t, path, func() error {
			status, text, err := ask(t.Context(), "http://"+server.Addr()+path)
			if err != nil || status != want.status {
				return fmt.Errorf("%d, %w: %s", status, errors.Join(err), text)
			}
			for _, part := range want.parts {
				if !strings.Contains(text, part) {
					return fmt.Errorf("no %q in %s", part, text)
				}
			}
			return nil
		})
	}
}
