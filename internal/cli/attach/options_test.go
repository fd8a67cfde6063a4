package attach

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"os"
	"strings"
	"testing"

	chart "github.com/vsphere-sandbox/vsphere-sandbox/charts/vsphere-sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/instance"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/match"
)

func poolOf(t *testing.T, pem []byte) *x509.CertPool {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatalf("no certificate: %s", pem)
	}
	return pool
}

func TestSplitImage(t *testing.T) {
	for ref, want := range map[string][3]string{
		"sandbox":                                {"sandbox", "latest", ""},
		"localhost/sandbox:v1":                   {"localhost/sandbox", "v1", ""},
		"registry.test:5000/sandbox":             {"registry.test:5000/sandbox", "latest", ""},
		"registry.test:5000/sandbox:v1@sha256:0": {"registry.test:5000/sandbox", "v1", "sha256:0"},
	} {
		if r, tag, d := splitImage(ref); [3]string{r, tag, d} != want {
			t.Errorf("%s: %q %q %q", ref, r, tag, d)
		}
	}
}

// The topology is passed to the guard of the cluster's nodes, and the chart accepts its values.
func TestValues(t *testing.T) {
	o := options(t, existing.Target{})
	o.Args = []string{"--csi", "off"}
	i := o.intent()
	if len(i.VMs) == 0 || i.VMs[0].UUID == (match.UUID{}) || i.VMs[0].HostName == "" || len(i.VMs[0].Addresses) == 0 {
		t.Errorf("%+v", i)
	}
	values, err := o.values()
	if err != nil {
		t.Fatal(err)
	}
	objects, err := existing.Objects(chart.Files(), existing.ReleaseOf("mine"), values)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, o := range objects {
		if kind := o.GetKind(); kind == "Deployment" || kind == "StatefulSet" {
			_ = json.NewEncoder(&text).Encode(o.Object) // a strings.Builder takes everything
		}
	}
	for _, want := range []string{`"localhost/vsphere-sandbox:v1"`, `topology.yaml"`, `"--csi","off"`, `"--speed=10"`, `"replicas":1,`} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %s in\n%s", want, &text)
		}
	}
}

// Sweep does nothing where there is nothing to do, and says so where the cluster does not answer.
func TestSweep(t *testing.T) {
	root := t.TempDir()
	sweep := func() error {
		err := Sweep(t.Context(), root, "mine", func(string) {})
		return err
	}
	if err := sweep(); err != nil {
		t.Errorf("no sandbox: %v", err)
	}
	dir, err := instance.Create(root, "mine")
	if err != nil {
		t.Fatal(err)
	}
	if err := existing.WriteNote(dir.Path(), existing.Note{Name: "mine", Context: "lab"}); err != nil {
		t.Fatal(err)
	}
	if err := sweep(); err != nil {
		t.Errorf("one that runs: %v", err)
	}
	if err := dir.Close(); err != nil { // as a kill does
		t.Fatal(err)
	}
	r := report.Of(sweep())
	if r.Code != existing.CodeKubeconfig || !strings.Contains(r.Message, `context "lab"`) || !strings.Contains(r.Try, "down --name mine") {
		t.Errorf("without the kubeconfig: %+v", r)
	}
	if err := os.WriteFile(existing.NotePath(dir.Path()), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sweep(); err == nil {
		t.Error("a broken note")
	}
	if err := os.Remove(existing.NotePath(dir.Path())); err != nil {
		t.Fatal(err)
	}
	if err := sweep(); err != nil {
		t.Errorf("another kind of sandbox: %v", err)
	}
	if _, err := instance.Reap(context.Background(), root, "mine"); err != nil {
		t.Error(err)
	}
}
