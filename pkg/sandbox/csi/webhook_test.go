package csi

import (
	"crypto/tls"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/program"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/supervisor"
)

// serve starts an HTTPS server with the files of a hook, where upstream's would listen.
func serve(t *testing.T, dir, address string) *httptest.Server {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	if err := s.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	if s.Listener, err = tls.Listen("tcp", address, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}); err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// A webhook is registered by URL with its authority, once, and not after it was withdrawn.
func TestHook(t *testing.T) {
	var h hook
	dir := t.TempDir()
	if err := h.prepare(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"tls.crt", "tls.key", "webhook.config"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if err := h.answers(t.Context()); err == nil || err.Error() != "does not listen on "+h.address {
		t.Errorf("without a server: %v", err)
	}
	if got := h.blocks("exited"); got != "exited" {
		t.Errorf("not registered: %s", got)
	}
	s := serve(t, dir, h.address)
	if err := h.answers(t.Context()); err != nil {
		t.Error(err)
	}
	var made []*unstructured.Unstructured
	var deleted []string
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		switch a := a.(type) {
		case clienttesting.PatchAction:
			u := &unstructured.Unstructured{}
			made = append(made, u)
			return true, u, u.UnmarshalJSON(a.GetPatch())
		case clienttesting.DeleteCollectionAction:
			deleted = append(deleted, a.GetResource().Resource+" "+a.GetListRestrictions().Labels.String())
		}
		return true, nil, nil
	})
	for range 2 {
		if err := h.register(t.Context(), client); err != nil {
			t.Fatal(err)
		}
	}
	if len(made) != 1 {
		t.Fatalf("registered %d times", len(made))
	}
	hooks, _, err := unstructured.NestedSlice(made[0].Object, "webhooks")
	if err != nil || len(hooks) != 1 {
		t.Fatal(hooks, err)
	}
	want := map[string]any{"url": "https://" + h.address + "/validate", "caBundle": base64.StdEncoding.EncodeToString(h.ca.Cert)}
	if diff := cmp.Diff(want, hooks[0].(map[string]any)["clientConfig"]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	s.Close()
	if err := h.answers(t.Context()); err == nil || !strings.Contains(h.blocks(err.Error()), "are refused") {
		t.Errorf("registered and away: %v", err)
	}
	if err := h.withdraw(t.Context(), client); err != nil {
		t.Error(err)
	}
	if err := h.register(t.Context(), client); err != nil || len(made) != 1 {
		t.Errorf("registered again: %d, %v", len(made), err)
	}
	if diff := cmp.Diff([]string{"validatingwebhookconfigurations app.kubernetes.io/managed-by=vsphere-sandbox"}, deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}

// A server with another certificate is none that the API server would ask.
func TestHookOfAStranger(t *testing.T) {
	var mine, theirs hook
	dir := t.TempDir()
	if err := mine.prepare(t.TempDir(), Options{}); err != nil {
		t.Fatal(err)
	}
	if err := theirs.prepare(dir, Options{}); err != nil {
		t.Fatal(err)
	}
	serve(t, dir, mine.address)
	if err := mine.answers(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Error(err)
	}
}

// The registration and the rights that the sandbox has without a manifest are those of upstream's, where this machine has its module.
func TestUpstreamWebhook(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skip("no Go")
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "sigs.k8s.io", "vsphere-csi-driver", "v3@v3.7.0", "manifests", "vanilla", "validatingwebhook.yaml"))
	if err != nil {
		t.Skip("the module of upstream's driver is not in the cache")
	}
	its, ours := Options{WebhookManifest: text}, Options{}
	want, err := its.webhookRights()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := ours.webhookRights()
	if diff := cmp.Diff([][]string{flat(want.cluster), flat(want.namespaced)}, [][]string{flat(got.cluster), flat(got.namespaced)}); diff != "" {
		t.Errorf("rights (-want +got):\n%s", diff)
	}
	configuration := func(o Options) any {
		c, err := o.webhookConfiguration()
		if err != nil {
			t.Fatal(err)
		}
		all, _, err := unstructured.NestedSlice(c.Object, "webhooks")
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		service, _, _ := unstructured.NestedMap(all[0].(map[string]any), "clientConfig", "service")
		delete(all[0].(map[string]any), "clientConfig")
		return []any{c.GetName(), all, service["path"]}
	}
	if diff := cmp.Diff(configuration(its), configuration(ours)); diff != "" {
		t.Errorf("registration (-want +got):\n%s", diff)
	}
}

// The webhook is the syncer in another mode, with an account and files that are not the driver's.
func TestWebhookSpec(t *testing.T) {
	d := newDriver(t)
	o := Options{Program: program.Program{Path: "/bin/theirs"}, Syncer: program.Program{Path: "/bin/syncer"}, Env: []string{"A=1"}, Webhook: true}.WithDefaults()
	all := o.processes()
	at := slices.IndexFunc(all, func(p process) bool { return p.part == partWebhook })
	if at < 0 {
		t.Fatalf("%+v", all)
	}
	spec := d.spec(all[at], o, "/run/csi.sock", "cluster")
	if spec.Path != "/bin/syncer" || !slices.Contains(spec.Args, "--operation-mode=WEBHOOK_SERVER") || !slices.Contains(spec.Env, "WEBHOOK_CONFIG_PATH="+d.dir(webhook, "webhook.config")) ||
		!slices.Contains(spec.Env, "A=1") || slices.ContainsFunc(spec.Env, func(v string) bool { return strings.HasPrefix(v, "VSPHERE_CSI_CONFIG=") }) {
		t.Errorf("%+v", spec)
	}
	if got := o.accountOf(all[at]); got != webhookAccount {
		t.Error(got)
	}
	if o.Program.Own = true; o.WithDefaults().Webhook {
		t.Error("a driver of this project has one")
	}
}

func TestCheckWebhook(t *testing.T) {
	d := newDriver(t)
	o := Options{Program: program.Program{Path: "/bin/theirs"}, Syncer: program.Program{Path: "/bin/syncer"}, Webhook: true}
	if err := d.checkWebhook(o); err != nil {
		t.Error(err)
	}
	if o.Syncer.Path = ""; d.checkWebhook(o) == nil {
		t.Error("without a syncer")
	}
	d.Guest = func() (supervisor.Environment, error) { return supervisor.Environment{}, nil }
	if err := d.checkWebhook(o); err == nil || !strings.Contains(err.Error(), "guest flavor") {
		t.Errorf("in a guest cluster: %v", err)
	}
}
