package attach

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/existing"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// In a real cluster, where there is one to try it on: ATTACH_TEST_KUBECONFIG, which may be thrown away, and ATTACH_TEST_IMAGE
// that its machines have.
func TestInACluster(t *testing.T) {
	target, image := existing.Target{Kubeconfig: os.Getenv("ATTACH_TEST_KUBECONFIG")}, os.Getenv("ATTACH_TEST_IMAGE")
	if target.Kubeconfig == "" || image == "" {
		t.Skip("no cluster: set ATTACH_TEST_KUBECONFIG and ATTACH_TEST_IMAGE")
	}
	o := options(t, target)
	o.Image, o.Args = image, []string{"--csi", "off"}
	begin := time.Now()
	o.Progress = func(p sandbox.Progress) { t.Logf("%5.1fs %+v", time.Since(begin).Seconds(), p) }
	s := New(o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- s.Run(ctx, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	t.Logf("ready after %s", time.Since(begin))
	c := api.NewClient(o.Dir.SocketPath())
	nodes, err := c.Nodes(ctx)
	if err != nil || len(nodes) == 0 {
		t.Errorf("nodes %v, %v", nodes, err)
	}
	if again := New(o).Guard(ctx); again == nil || !strings.Contains(again.Error(), `sandbox "mine"`) {
		t.Errorf("a second sandbox: %v", again)
	}
	access, err := c.Access(ctx)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := os.ReadFile(access[0].CAFile)
	if err != nil {
		t.Fatal(err)
	}
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: poolOf(t, pem)}, DisableKeepAlives: true}}
	resp, err := client.Get(strings.TrimSuffix(access[0].URL, "/sdk") + "/sdk/vimServiceVersions.xml")
	if err != nil {
		t.Fatal(err)
	}
	text, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	t.Logf("%s: %s, %d bytes", access[0].URL, resp.Status, len(text))

	// The pod is replaced: status tells, and then it is there again.
	kubectl := func(args ...string) string {
		out, err := exec.CommandContext(context.WithoutCancel(ctx), "kubectl", append([]string{"--kubeconfig", target.Kubeconfig}, args...)...).CombinedOutput()
		if err != nil {
			t.Errorf("kubectl %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	t.Log(kubectl("get", "all,clusterrole,role", "-A", "-l", "app.kubernetes.io/part-of=vsphere-sandbox"))
	t.Log(kubectl("-n", "vsphere-sandbox-mine", "logs", "deploy/sandbox", "--tail=8"))
	kubectl("-n", "vsphere-sandbox-mine", "delete", "pod", "-l", "app.kubernetes.io/component=sandbox", "--grace-period=1")
	begin = time.Now()
	for deadline := time.After(2 * time.Minute); ; {
		if st, err := c.Status(ctx); err == nil && st.Phase == api.Ready && st.Nodes.Ready == st.Nodes.Wanted && st.Nodes.Wanted > 0 {
			break
		}
		select {
		case <-time.After(time.Second):
		case <-deadline:
			t.Fatal("it does not come back")
		}
	}
	t.Logf("a new pod answers after %s", time.Since(begin))
	if _, err := c.Access(ctx); err != nil {
		t.Errorf("access of the new one: %v", err)
	}

	begin = time.Now()
	if _, err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	t.Logf("removed after %s", time.Since(begin))
	for _, selector := range []string{"app.kubernetes.io/part-of=vsphere-sandbox", "app.kubernetes.io/managed-by=vsphere-sandbox"} {
		for _, kinds := range []string{"all,configmap,secret,role,rolebinding,serviceaccount,lease", "node,clusterrole,clusterrolebinding,csidriver,storageclass,crd,namespace"} {
			if out := kubectl("get", kinds, "-A", "-o", "name", "-l", selector); out != "" && !strings.Contains(out, "No resources found") {
				t.Errorf("left:\n%s", out)
			}
		}
	}
}
