package kind

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cert"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/chart"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// govc is the image of the client in pods. Its name is no registry's, so it is never pulled.
const govc = "localhost/vsphere-sandbox-test/govc:v1"

// Pods of a kind cluster that has nothing to do with a sandbox log in to vCenters, and verify them: to those of "vcenter up
// --in-kind" on this machine, and to those that the chart of vCenters runs in the cluster.
func TestVCentersForPods(t *testing.T) {
	h := newHome(t)
	c := h.plain("visitors")
	carry(t, c, packed(t, "govc", govc))
	t.Run("on this machine", func(t *testing.T) { reachFromPod(t, h, c) })
	t.Run("by the chart", func(t *testing.T) { chartInCluster(t, h, c) })
}

func reachFromPod(t *testing.T, h *home, c *kind.Cluster) {
	var got struct{ VCenters []api.Access }
	decode(t, h.Must("--name", "near", "vcenter", "up", "--vm", "3", "--in-kind", c.Name(), "--detach", "-o", "json"), &got)
	if len(got.VCenters) != 1 || got.VCenters[0].ContainerURL == "" {
		t.Fatalf("%d vCenters, or no URL for containers: %+v", len(got.VCenters), got)
	}
	access := got.VCenters[0]
	t.Run("lists", func(t *testing.T) {
		var list struct{ Items []api.VCenter }
		decode(t, h.Must("--name", "near", "get", "vcenters", "-o", "json"), &list)
		if len(list.Items) != 1 || list.Items[0].ContainerURL != access.ContainerURL {
			t.Errorf("get vcenters: %+v, want the URL %s", list.Items, access.ContainerURL)
		}
		var status api.Status
		decode(t, h.Must("--name", "near", "status", "-o", "json"), &status)
		if len(status.VCenters) != 1 || status.VCenters[0].ContainerURL != access.ContainerURL {
			t.Errorf("status: %+v, want the URL %s", status.VCenters, access.ContainerURL)
		}
	})
	ca, err := os.ReadFile(access.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	out, ok := visit(t, c, "near", access.ContainerURL, url.UserPassword(access.User, access.Password), ca, "find", "/", "-type", "m")
	if !ok || strings.Count(out, "DC0_") < 3 {
		t.Errorf("a pod lists the VMs: %t\n%s", ok, out)
	}
	// It is TLS and the password that let it in.
	if out, ok := visit(t, c, "wrong-password", access.ContainerURL, url.UserPassword(access.User, "wrong"), ca, "find", "/"); ok || !strings.Contains(out, "incorrect user name or password") {
		t.Errorf("with another password: %t\n%s", ok, out)
	}
	other, err := cert.NewCA("another")
	if err != nil {
		t.Fatal(err)
	}
	if out, ok := visit(t, c, "wrong-authority", access.ContainerURL, url.UserPassword(access.User, access.Password), other.Cert, "about"); ok || !strings.Contains(out, "unknown authority") {
		t.Errorf("with another authority: %t\n%s", ok, out)
	}
	h.Must("--name", "near", "down")
	if out, ok := visit(t, c, "after", access.ContainerURL, url.UserPassword(access.User, access.Password), ca, "about"); ok || !strings.Contains(out, "connection refused") {
		t.Errorf("after the end: %t\n%s", ok, out)
	}
}

// chartInCluster installs charts/vcenters as "helm install" does, with a certificate of one's own.
func chartInCluster(t *testing.T, h *home, c *kind.Cluster) {
	const user, password, namespace = "ci@vsphere.local", "0123456789abcdef-in-no-log", "ci"
	archive := filepath.Join(h.Dir, "programs.tar")
	h.Must("images", "save", archive, "--ground", "existing")
	carry(t, c, archive)
	var images struct{ Items []struct{ Name string } }
	decode(t, h.Must("images", "list", "--ground", "existing", "-o", "json"), &images)
	program := regexp.MustCompile(`^(.*/vsphere-sandbox):([^:]+)$`)
	var image map[string]any
	for _, i := range images.Items {
		if m := program.FindStringSubmatch(i.Name); m != nil {
			image = map[string]any{"repository": m[1], "tag": m[2], "pullPolicy": "Never"}
		}
	}
	if image == nil {
		t.Fatalf("no image of the program in %+v", images)
	}

	ca, err := cert.NewCA("ci")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Sign(cert.Leaf{CommonName: "vcenters", DNSNames: []string{"vcenters.ci.svc"}})
	if err != nil {
		t.Fatal(err)
	}
	apply(t, c,
		&corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}},
		},
		&corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: "vcenters", Namespace: namespace},
			StringData: map[string]string{"username": user, "password": password},
		},
		&corev1.Secret{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Name: "certificate", Namespace: namespace},
			Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: pair.Cert, corev1.TLSPrivateKeyKey: pair.Key},
		})
	release, err := chart.Load("../../charts/vcenters")
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := release.Render(chart.Options{Release: "sims", Namespace: namespace, Set: map[string]any{
		"image": image, "scenario": "zones-us-eu", "ports": []any{8989, 8990}, "tls": map[string]any{"secretName": "certificate"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	kubectl(t, c, manifest, "apply", "-f", "-")
	begin := time.Now()
	kubectl(t, c, nil, "-n", namespace, "rollout", "status", "deployment/vcenters", "--timeout=120s")
	took(t, "the chart's pod is ready", begin)
	for vcenter, port := range map[string]string{"us": "8989", "eu": "8990"} {
		var out string
		ok := false
		// Each node forwards a Service's connections some time after its pod is ready.
		for n, deadline := 1, time.Now().Add(time.Minute); !ok && time.Now().Before(deadline); n++ {
			out, ok = visit(t, c, fmt.Sprintf("guest-%s-%d", vcenter, n), "https://vcenters."+namespace+".svc:"+port+"/sdk", url.UserPassword(user, password), ca.Cert, "find", "/", "-type", "m")
			if !ok {
				t.Logf("try %d: %s", n, out)
				if !strings.Contains(out, "connection refused") && !strings.Contains(out, "no such host") && !strings.Contains(out, "timeout") {
					break
				}
			}
		}
		if !ok || !strings.Contains(out, "/vm/") {
			t.Errorf("a pod lists the VMs of vCenter %s: %t\n%s", vcenter, ok, out)
		}
	}
	log := kubectl(t, c, nil, "-n", namespace, "logs", "deployment/vcenters", "--all-containers")
	if log == "" || strings.Contains(log, password) {
		t.Errorf("the pod's log is empty or has the password:\n%s", log)
	}
}

// visit runs the client in a pod and returns what it said, and whether it ended well.
func visit(t *testing.T, c *kind.Cluster, name, at string, login *url.Userinfo, ca []byte, args ...string) (said string, ok bool) {
	t.Helper()
	password, _ := login.Password()
	apply(t, c,
		&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Data: map[string]string{"ca.crt": string(ca)},
		},
		&corev1.Pod{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Volumes: []corev1.Volume{{Name: "ca", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: name},
				}}}},
				Containers: []corev1.Container{{
					Name: "govc", Image: govc, ImagePullPolicy: corev1.PullNever, Args: args,
					Env: []corev1.EnvVar{
						{Name: "GOVC_URL", Value: at},
						{Name: "GOVC_USERNAME", Value: login.Username()},
						{Name: "GOVC_PASSWORD", Value: password},
						{Name: "GOVC_TLS_CA_CERTS", Value: "/ca/ca.crt"},
						{Name: "GOVC_PERSIST_SESSION", Value: "false"},
					},
					VolumeMounts: []corev1.VolumeMount{{Name: "ca", MountPath: "/ca"}},
				}},
			},
		})
	phase := corev1.PodPending
	for deadline := time.After(2 * time.Minute); phase != corev1.PodSucceeded && phase != corev1.PodFailed; {
		pod, err := c.Client().CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		phase = pod.Status.Phase
		select {
		case <-time.After(300 * time.Millisecond): // the end of a pod must be polled
		case <-deadline:
			t.Fatalf("pod %s is %s\n%+v", name, phase, pod.Status.ContainerStatuses)
		}
	}
	return kubectl(t, c, nil, "logs", name), phase == corev1.PodSucceeded
}

// apply gives objects to a cluster.
func apply(t *testing.T, c *kind.Cluster, objects ...runtime.Object) {
	t.Helper()
	var all bytes.Buffer
	for _, o := range objects {
		if err := json.NewEncoder(&all).Encode(o); err != nil {
			t.Fatal(err)
		}
		all.WriteString("---\n")
	}
	kubectl(t, c, all.Bytes(), "apply", "-f", "-")
}

// kubectl runs that of the node.
func kubectl(t *testing.T, c *kind.Cluster, in []byte, args ...string) string {
	t.Helper()
	out, err := c.Exec(t.Context(), c.ExtraControlPlane(), bytes.NewReader(in), append([]string{"kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf"}, args...)...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func decode(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
}
