package e2e

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
)

// The pod of the chart of vCenters, with this test as its kubelet: the program takes the chart's arguments and variables,
// answers its probe, shows a certificate for the Service's name, and ends when the pod does.
func TestVCentersChart(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	const password = "0123456789abcdef"
	ports := []any{free(t), free(t)}
	objects, err := existing.Objects(os.DirFS("../../charts/vcenters"), existing.Release{Name: "sims", Namespace: "ci"},
		map[string]any{"scenario": "zones-us-eu", "ports": ports})
	if err != nil {
		t.Fatal(err)
	}
	container := deployment(t, objects).Spec.Template.Spec.Containers[0]
	variables := map[string]string{}
	for _, v := range container.Env {
		switch from := v.ValueFrom; {
		case v.Name == "VSPHERE_SANDBOX_STATE" || v.Name == "TMPDIR": // this home has its own
		case from == nil:
			variables[v.Name] = v.Value
		case from.FieldRef != nil && from.FieldRef.FieldPath == "status.podIP":
			variables[v.Name] = "127.0.0.1"
		case from.SecretKeyRef != nil && from.SecretKeyRef.Name == "vcenters":
			variables[v.Name] = map[string]string{"username": "ci@vsphere.local", "password": password}[from.SecretKeyRef.Key]
		}
	}
	args := container.Args
	for i := range args {
		for name, value := range variables {
			args[i] = strings.ReplaceAll(args[i], "$("+name+")", value)
		}
	}
	c := h.Cmd(args...)
	for name, value := range variables {
		c.Env = append(c.Env, name+"="+value)
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	h.awaitReady()
	probe := container.ReadinessProbe.HTTPGet
	for i, vcenter := range []string{"us", "eu"} {
		lines := h.Must("env", "--vcenter", vcenter, "--shell", "bash")
		if !strings.Contains(lines, fmt.Sprintf("127.0.0.1:%d", ports[i])) {
			t.Errorf("vCenter %s is not at port %d:\n%s", vcenter, ports[i], lines)
		}
		// As a client that has the authority and goes to the Service's name.
		authority := regexp.MustCompile(`GOVC_TLS_CA_CERTS='(.*)'`).FindStringSubmatch(lines)
		pool := x509.NewCertPool()
		if ca, err := os.ReadFile(authority[1]); err != nil || !pool.AppendCertsFromPEM(ca) {
			t.Fatalf("%s: %v", authority[1], err)
		}
		client := http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "vcenters.ci.svc"}, DisableKeepAlives: true,
		}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s://127.0.0.1:%d%s", probe.Scheme, ports[i], probe.Path), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(req)
		if err != nil {
			t.Errorf("vCenter %s: %v", vcenter, err)
			continue
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != http.StatusOK {
			t.Errorf("vCenter %s: the probe gets %s, %v", vcenter, answer.Status, err)
		}
	}
	if strings.Contains(out.String(), password) {
		t.Errorf("the log has the password:\n%s", out.String())
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Errorf("at its end: %v\n%s", err, out.String())
	}
	h.nothingLeft()
}

func deployment(t *testing.T, objects []*unstructured.Unstructured) *appsv1.Deployment {
	t.Helper()
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			d := &appsv1.Deployment{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, d); err != nil {
				t.Fatal(err)
			}
			return d
		}
	}
	t.Fatal("no Deployment")
	return nil
}

// free returns a port that nothing listens on. Ports are given by the system in turn, so that it is not given again soon.
func free(t *testing.T) int {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return port
}
