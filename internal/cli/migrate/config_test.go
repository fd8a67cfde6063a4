package migrate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

const (
	old = `# of the in-tree provider
[Global]
user = "admin@vsphere.local"
password = "hunter2"
insecure-flag = "1"
[VirtualCenter "192.0.2.7"]
datacenters = dc1, dc2
[Workspace]
server = 192.0.2.7
datacenter = dc1
folder = k8s
default-datastore = shared
`
	unknown = "[Global]\nuser = u@d\npassword = hunter2\nserver = vc.example\nspeed = fast\n"
	// What migrate config knows of, and the provider does not; and what it does not carry over.
	pool     = "[Global]\nuser = u@d\npassword = hunter2\nserver = vc.example\ndatacenter = dc\nresourcepool-path = p\n"
	balancer = "[Global]\nuser = u@d\npassword = hunter2\nserver = vc.example\n[LoadBalancer]\nip-pool-name = p\n"
	classes  = `apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: standard
provisioner: kubernetes.io/vsphere-volume
parameters:
  diskformat: thin
`
)

// run runs the command where the files are, and returns all that it printed and what it ended with.
func run(t *testing.T, in string, args ...string) (string, report.Record) {
	t.Helper()
	e := clitest.NewEnv(nil)
	e.In.WriteString(in)
	r := e.Run(t.Context(), NewCmdMigrate(e.Deps), append([]string{"config"}, args...)...)
	out := e.Out.String()
	if e.Err.Len() > 0 {
		out += "--- on standard error\n" + e.Err.String()
	}
	if r.Message != "" {
		out += "--- ended with " + r.Code + "\n" + r.Message + "\n"
		if r.Try != "" {
			out += "try: " + r.Try + "\n"
		}
	}
	if strings.Contains(out, "hunter2") {
		t.Error("told a password")
	}
	return out, r
}

// world writes files to a new folder, changes to it, and returns a func that changes back.
func world(t *testing.T) (back func()) {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"old.conf": old, "unknown.conf": unknown, "pool.conf": pool, "balancer.conf": balancer, "classes.yaml": classes, "empty.conf": "", "full/note": "mine", "full/vsphere.conf": "mine",
		"new.conf": "global: {user: u, password: hunter2}\nvcenter: {a: {server: vc}}\n", "many.conf": strings.Repeat("[Nope]\n", 30),
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return func() { t.Chdir(here) }
}

func TestOutput(t *testing.T) {
	for name, tc := range map[string]struct {
		args string
		exit int
	}{
		"text":       {args: "old.conf"},
		"json":       {args: "old.conf -o json"},
		"yaml":       {args: "old.conf -o yaml --cluster-id blue"},
		"out":        {args: "old.conf --out new"},
		"out.json":   {args: "old.conf --out new -o json"},
		"classes":    {args: "old.conf --manifests classes.yaml --datastore-url shared=ds:///vmfs/volumes/1/"},
		"stdin":      {args: "-"},
		"unknown":    {"unknown.conf", report.Usage},
		"forced":     {args: "unknown.conf --force"},
		"many":       {"many.conf", report.Usage},
		"empty":      {"empty.conf", report.Usage},
		"new":        {"new.conf", report.Usage},
		"out.full":   {"old.conf --out full", report.Usage},
		"out.forced": {args: "old.conf --out full --force"},
	} {
		t.Run(name, func(t *testing.T) {
			back := world(t)
			got, r := run(t, old, strings.Fields(tc.args)...)
			if r.Exit != tc.exit {
				t.Errorf("ended with %+v, want %d", r, tc.exit)
			}
			here, _ := os.Getwd()
			back() // where the golden files are
			clitest.Golden(t, name, strings.ReplaceAll(got, here, "/here"))
		})
	}
}

// The folder holds the files, with their credentials for their owner alone; what is refused leaves nothing.
func TestFolder(t *testing.T) {
	defer world(t)()
	if _, r := run(t, "", "old.conf", "--out", "new"); r.Exit != 0 {
		t.Fatal(r)
	}
	modes := map[string]string{}
	entries, err := os.ReadDir("new")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		modes[e.Name()] = info.Mode().String()
	}
	want := map[string]string{
		"configmap.yaml": "-rw-r--r--", "report.txt": "-rw-r--r--", "secret-vsphere-cloud-secret.yaml": "-rw-------",
		"secret-vsphere-config-secret.yaml": "-rw-------", "storageclasses.yaml": "-rw-r--r--", "vsphere.conf": "-rw-r--r--",
	}
	if d := cmp.Diff(want, modes); d != "" {
		t.Error(d)
	}
	for _, name := range []string{"secret-vsphere-cloud-secret.yaml", "secret-vsphere-config-secret.yaml"} {
		if data, err := os.ReadFile(filepath.Join("new", name)); err != nil || !strings.Contains(string(data), "hunter2") {
			t.Errorf("%s: %v, %s", name, err, data)
		}
	}
	if _, r := run(t, "", "unknown.conf", "--out", "other"); r.Exit != report.Usage {
		t.Error(r)
	}
	if _, err := os.Stat("other"); err == nil {
		t.Error("what is refused has left a folder")
	}
}

// What is read is never what is replaced.
func TestInputIsNotReplaced(t *testing.T) {
	defer world(t)()
	if err := os.WriteFile("vsphere.conf", []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, r := run(t, "", "vsphere.conf", "--out", ".", "--force"); r.Message != "vsphere.conf would be replaced by the new vsphere.conf" {
		t.Errorf("%+v", r)
	}
	if data, _ := os.ReadFile("vsphere.conf"); string(data) != old {
		t.Error("the old file has been replaced")
	}
}

func TestRefused(t *testing.T) {
	defer world(t)()
	if err := os.WriteFile("locked", []byte(old), 0o000); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"":                              "config needs a FILE",
		"a b":                           `config: unexpected argument "b"`,
		"nosuch":                        "nosuch: no such file or directory",
		"full":                          "full: is a directory",
		"old.conf -o toml":              `unknown output format "toml"`,
		"old.conf --manifests nosuch":   "nosuch: no such file or directory",
		"old.conf --manifests old.conf": "--manifests: old.conf is named twice",
		"old.conf --datastore-url x":    `--datastore-url: "x" is not NAME=URL`,
		"old.conf --datastore-url x=a --datastore-url x=b": "--datastore-url: x is named twice",
		"old.conf --datastore-url x=ds:///1/":              "datastore URLs: x: neither the file nor a StorageClass names this datastore",
		"old.conf --out no/such":                           "no/such: no such file or directory",
		"old.conf --out classes.yaml":                      "classes.yaml: not a directory",
		"locked":                                           "locked: permission denied",
	} {
		if args == "locked" && (os.Geteuid() == 0 || runtime.GOOS == "windows") {
			continue // root reads everything
		}
		if got, r := run(t, "", strings.Fields(args)...); r.Exit == 0 || r.Exit == report.Failure || !strings.Contains(r.Message, want) {
			t.Errorf("%s: %+v, %s", args, r, got)
		}
	}
}

// Every refusal says what to do about it, and calls the file what it is.
func TestWayOut(t *testing.T) {
	defer world(t)()
	for name, text := range map[string]string{
		"latin": "[Global]\nuser = \xe4\n", "large": "[Global]\n" + strings.Repeat("#", 1<<20), "backslash": "[Global]\nuser = a\\b\n", "value": "[Global]\nport = x\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for args, called := range map[string]string{name: name, "-": "standard input"} {
			got, r := run(t, text, args)
			if r.Try == "" || !strings.HasPrefix(r.Message, called+" cannot be converted") {
				t.Errorf("%s: %s", args, got)
			}
		}
	}
	for _, args := range []string{"old.conf --out no/such", "old.conf --out classes.yaml"} {
		if got, r := run(t, "", strings.Fields(args)...); r.Try == "" {
			t.Errorf("%s: %s", args, got)
		}
	}
}

func TestOptions(t *testing.T) {
	e := clitest.NewEnv(nil)
	var o *configOptions
	r := e.Run(t.Context(), NewCmdConfig(e.Deps, func(given *configOptions) error { o = given; return nil }),
		"a", "--out", "b", "--manifests", "c", "--manifests", "d", "--datastore-url", "e=f", "--cluster-id", "g", "--force", "-o", "json")
	if r.Exit != 0 {
		t.Fatal(r)
	}
	got := []any{o.old, o.out, o.manifests, o.urls, o.clusterID, o.force, o.format}
	want := []any{"a", "b", []string{"c", "d"}, []string{"e=f"}, "g", true, "json"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Programs get the verdict on every line.
func TestJSON(t *testing.T) {
	defer world(t)()
	e := clitest.NewEnv(nil)
	if r := e.Run(t.Context(), NewCmdMigrate(e.Deps), "config", "old.conf", "-o", "json"); r.Exit != 0 {
		t.Fatal(r)
	}
	var v struct {
		Kind, Dialect string
		Lines         []struct{ Line int }
	}
	if err := json.Unmarshal(e.Out.Bytes(), &v); err != nil || v.Kind != "ConfigMigration" || v.Dialect != "in-tree" || len(v.Lines) != 11 {
		t.Errorf("%v, %+v", err, v)
	}
}
