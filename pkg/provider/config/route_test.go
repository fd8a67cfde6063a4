package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRoute: the key in both formats, without load balancers; and read again as rendered.
func TestRoute(t *testing.T) {
	want := &Route{RouterPath: "/infra/tier-1s/pods"}
	for name, text := range map[string]string{
		"yaml": vcenterYAML + "nsxt: {host: n, user: a, password: b}\nroute:\n  routerPath: /infra/tier-1s/pods\n",
		"ini":  vcenterINI + "[NSXT]\nhost = n\nuser = a\npassword = b\n[Route]\nrouter-path = /infra/tier-1s/pods\n",
	} {
		cfg, err := Load("c", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		normal, err := cfg.YAML()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load("c", normal)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, normal)
		}
		if diff := cmp.Diff(want, cfg.Route) + cmp.Diff(want, again.Route); diff != "" || len(cfg.Warnings) > 0 || cfg.NSX == nil || cfg.LoadBalancer != nil {
			t.Errorf("%s: %v, NSX %v, load balancers %v (-want +got):\n%s", name, cfg.Warnings, cfg.NSX, cfg.LoadBalancer, diff)
		}
	}
}

// TestRouteProblems: what a wrong section reports.
func TestRouteProblems(t *testing.T) {
	const nsxt = "nsxt: {host: n, user: a, password: b}\n"
	for name, tc := range map[string]struct{ conf, want string }{
		"a name":           {nsxt + "route: {routerPath: pods}", `c:3: route.routerPath: "pods" is no path of a tier-1 gateway (/infra/tier-1s/NAME), write /infra/tier-1s/pods`},
		"a tier-0 gateway": {nsxt + "route: {routerPath: /infra/tier-0s/edge}", `"/infra/tier-0s/edge" is no path of a tier-1 gateway`},
		"below a gateway":  {nsxt + "route: {routerPath: /infra/tier-1s/a/b}", `is no path of a tier-1 gateway`},
		"no NSX":           {"route: {routerPath: /infra/tier-1s/a}", "c:2: route: has no effect without nsxt"},
		"an unknown key":   {nsxt + "route: {routerpath: /infra/tier-1s/a}", "routerpath"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, err := Load("c", []byte(vcenterYAML+tc.conf+"\n"))
			text := ""
			if err != nil {
				text = err.Error()
			} else {
				for _, w := range cfg.Warnings {
					text += w + "\n"
				}
			}
			if !strings.Contains(text, tc.want) {
				t.Errorf("it says %q, want %q", text, tc.want)
			}
		})
	}
}
