package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

const (
	good = `global:
  secretName: creds
  secretNamespace: kube-system
  apiDisable: true
vcenter:
  west: {server: vc-west.example, port: 8443, datacenters: [/eu/dc2, "Datacenter:datacenter-3"]}
  east: {server: 192.0.2.7, user: admin, password: "hush, hush"}
labels: {region: k8s-region, zone: k8s-zone}
nodes: {internalNetworkSubnetCidr: "10.0.0.1/8, 2001:db8::/32"}
`
	bad = `global:
  user: u
  password: p
  insecure-flag: true
vcenter:
  a: {server: https://vc/sdk, soapRoundtripCount: "3", apiBinding: x}
label: {}
`
	broken = "global:\n\tuser: u\n"
	inTree = `; of the in-tree provider
[Global]
user = "DOMAIN\\admin"
password = "hush"   # not for you
insecure-flag = yes
working-dir = kubernetes
[VirtualCenter "192.0.2.7"]
datacenters = dc1, dc2
[Workspace]
server = 192.0.2.7
[Disk]
scsicontrollertype = pvscsi
`
	csiINI = `[Global]
cluster-id = c1
[VirtualCenter "192.0.2.10"]
user = csi@vsphere.local
password = hush#er
[Network]
public-network = x
[Labels]
topology-categories = k8s-region, k8s-zone
`
	badINI = `[Global]
user = DOMAIN\admin
passwort = x
[VirtualCenter vc]
[VirtualCenter]
port = 443
`
)

// world writes files into a new folder, and changes to it.
func world(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"good.yaml": good, "bad.yaml": bad, "broken.yaml": broken, "in-tree.ini": inTree, "bad.ini": badINI,
		"csi-vsphere.conf": csiINI, "csi-bad.conf": strings.Replace(csiINI, "[Labels]", "[VirtualCenter \"192.0.2.11\"]", 1),
		"secret/VC-West.example.username": "u\n", "secret/vc-west.example.password": "p\n",
		"half/vc-west.example.username": "u\n", "half/other": "",
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// run runs a command of the group where the files are, and returns all that it printed and what it ended with.
func run(t *testing.T, in string, args ...string) (string, report.Record) {
	t.Helper()
	e := clitest.NewEnv(nil)
	e.In.WriteString(in)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	world(t)
	r := e.Run(t.Context(), NewCmdConfig(e.Deps), args...)
	t.Chdir(here) // where the golden files are
	out := e.Out.String()
	if e.Err.Len() > 0 {
		out += "--- on standard error\n" + e.Err.String()
	}
	if r.Message != "" {
		out += "--- ended with " + r.Code + "\n" + r.Message + "\n"
	}
	return out, r
}

func TestOutput(t *testing.T) {
	for name, tc := range map[string]struct {
		args string
		exit int
	}{
		"validate":              {args: "validate good.yaml"},
		"validate.json":         {args: "validate good.yaml -o json"},
		"validate.secret":       {args: "validate good.yaml --secret-dir secret"},
		"validate.half":         {"validate good.yaml --secret-dir half", report.Usage},
		"validate.half.yaml":    {"validate good.yaml --secret-dir=half -o yaml", report.Usage},
		"validate.bad":          {"validate bad.yaml", report.Usage},
		"validate.bad.json":     {"validate -o json bad.yaml", report.Usage},
		"validate.broken":       {"validate broken.yaml", report.Usage},
		"validate.in-tree":      {args: "validate in-tree.ini"},
		"validate.in-tree.yaml": {args: "validate in-tree.ini -o yaml"},
		"validate.bad-ini":      {"validate bad.ini", report.Usage},
		"validate.csi":          {args: "validate csi-vsphere.conf"},
		"validate.csi.yaml":     {args: "validate csi-vsphere.conf -o yaml"},
		"validate.csi-bad":      {"validate csi-bad.conf", report.Usage},
		"render":                {args: "render good.yaml"},
		"render.in-tree":        {args: "render in-tree.ini"},
		"render.bad":            {"render bad.ini", report.Usage},
	} {
		t.Run(name, func(t *testing.T) {
			got, r := run(t, "", strings.Fields(tc.args)...)
			if r.Exit != tc.exit {
				t.Errorf("ended with %+v, want %d", r, tc.exit)
			}
			if strings.Contains(got, "hush") {
				t.Error("told a password")
			}
			clitest.Golden(t, name, got)
		})
	}
}

func TestStandardInput(t *testing.T) {
	got, r := run(t, "global: {server: vc, user: u}\n", "validate", "-")
	if _, bad := run(t, "global: {}\n", "validate", "-"); !strings.HasPrefix(bad.Message, "cloud config from standard input cannot be used\n") || bad.Try != "fix these errors, then vsphere-sandbox config validate -" {
		t.Errorf("of nothing: %+v", bad)
	}
	if r.Exit != report.Usage || !strings.Contains(got, "standard input:1: global.server: credentials are missing") {
		t.Errorf("%d, %s", r.Exit, got)
	}
}

// What render writes comes to the same, but for the passwords.
func TestRenderedValidates(t *testing.T) {
	for _, file := range []string{"good.yaml", "in-tree.ini"} {
		text, r := run(t, "", "render", file)
		if again, r2 := run(t, text, "render", "-"); r.Exit != 0 || r2.Exit != 0 || again != text || !strings.Contains(text, provider.Mask) {
			t.Errorf("%s, then %s", text, again)
		}
	}
}

func TestRefused(t *testing.T) {
	for args, want := range map[string]string{
		"validate":                               "validate needs a FILE",
		"validate a b":                           `validate: unexpected argument "b"`,
		"render":                                 "render needs a FILE",
		"validate nosuch":                        "open nosuch: no such file or directory",
		"render nosuch":                          "open nosuch: no such file or directory",
		"validate good.yaml -o toml":             `unknown output format "toml"`,
		"validate good.yaml --secret-dir nosuch": "secrets directory: open nosuch: no such file or directory",
	} {
		if got, r := run(t, "", strings.Fields(args)...); r.Exit != report.Usage || !strings.Contains(r.Message, want) {
			t.Errorf("%s: %+v, %s", args, r, got)
		}
	}
}

func TestOptions(t *testing.T) {
	e := clitest.NewEnv(nil)
	var v *validateOptions
	var r *renderOptions
	for _, ended := range []report.Record{
		e.Run(t.Context(), NewCmdValidate(e.Deps, func(o *validateOptions) error { v = o; return nil }), "a", "--secret-dir", "s", "-o", "yaml"),
		e.Run(t.Context(), NewCmdRender(e.Deps, func(o *renderOptions) error { r = o; return nil }), "-"),
	} {
		if ended.Exit != 0 {
			t.Fatalf("ended with %+v", ended)
		}
	}
	if diff := cmp.Diff([]string{"a", "s", "yaml", "-"}, []string{v.file, v.secretDir, v.format, r.file}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
