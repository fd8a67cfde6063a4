package kubeconfig

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

func admin(name string) []byte {
	return []byte(strings.ReplaceAll(`apiVersion: v1
kind: Config
current-context: vsphere-sandbox-NAME
clusters: [{name: vsphere-sandbox-NAME, cluster: {server: "https://127.0.0.1:6443"}}]
contexts: [{name: vsphere-sandbox-NAME, context: {cluster: vsphere-sandbox-NAME, user: vsphere-sandbox-NAME}}]
users: [{name: vsphere-sandbox-NAME, user: {token: secret}}]
`, "NAME", name))
}

func TestMergeAndUnmerge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config")
	for _, name := range []string{"a", "b", "a"} {
		if err := Merge(t.Context(), path, admin(name)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clitest.Golden(t, "merged", string(text))
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v", info.Mode())
	}
	for _, want := range []bool{true, false} {
		if found, err := Unmerge(t.Context(), path, Context("a")); err != nil || found != want {
			t.Fatalf("found %v, %v; want %v", found, err, want)
		}
	}
	c, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if c.CurrentContext != "" || len(c.Contexts) != 1 || len(c.Clusters) != 1 || len(c.AuthInfos) != 1 {
		t.Errorf("left: %+v", c)
	}
	entries, _ := os.ReadDir(filepath.Dir(path))
	if len(entries) != 1 {
		t.Errorf("files left behind: %v", entries)
	}
}

func TestMergeKeepsTheRest(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "config")
	theirs := strings.ReplaceAll(string(admin("work")), "vsphere-sandbox-", "")
	if err := os.WriteFile(real, []byte(theirs), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if err := Merge(t.Context(), link, admin("x")); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Lstat(link); info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced by a file")
	}
	if info, _ := os.Stat(real); info.Mode().Perm() != 0o640 {
		t.Errorf("mode = %v", info.Mode())
	}
	c, err := clientcmd.LoadFromFile(real)
	if err != nil {
		t.Fatal(err)
	}
	if c.Contexts["work"] == nil || c.AuthInfos["work"].Token != "secret" || c.CurrentContext != Context("x") {
		t.Errorf("merged: %+v", c)
	}
	// A cluster that another context uses stays.
	c.Contexts["mine"] = c.Contexts[Context("x")].DeepCopy()
	if err := clientcmd.WriteToFile(*c, real); err != nil {
		t.Fatal(err)
	}
	if _, err := Unmerge(t.Context(), link, Context("x")); err != nil {
		t.Fatal(err)
	}
	c, _ = clientcmd.LoadFromFile(real)
	if c.Clusters[Context("x")] == nil || c.AuthInfos[Context("x")] == nil || c.Contexts[Context("x")] != nil {
		t.Errorf("left: %+v", c)
	}
}

func TestMergeFromManyAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	var wg sync.WaitGroup
	for name := range strings.SplitSeq("abcdefgh", "") {
		wg.Go(func() {
			if err := Merge(t.Context(), path, admin(name)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if c, err := clientcmd.LoadFromFile(path); err != nil || len(c.Contexts) != 8 {
		t.Errorf("%v, %v", c, err)
	}
}

func TestTrouble(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Merge(t.Context(), path, admin("x")); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("err = %v", err)
	}
	if text, _ := os.ReadFile(path); string(text) != "{broken" {
		t.Errorf("the file was changed: %s", text)
	}
	if err := Merge(t.Context(), path, []byte("{}")); err == nil {
		t.Error("a kubeconfig without a context was merged")
	}
	if err := os.WriteFile(path+".lock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Merge(ctx, path, admin("x")); report.Of(err).Exit != report.Interrupted {
		t.Errorf("err = %v", err)
	}
	if r := report.Of(Merge(t.Context(), path, admin("x"))); r.Code != "kubeconfig-locked" {
		t.Errorf("ended with %+v", r)
	}
}

// What is in the way is named, and how another file is taken.
func TestUnusableFiles(t *testing.T) {
	dir := t.TempDir()
	for name, code := range map[string]string{"a-file/config": "kubeconfig-unwritable", "a-file": "kubeconfig-unusable"} {
		if err := os.WriteFile(filepath.Join(dir, "a-file"), []byte("clusters: {"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := report.Of(Merge(t.Context(), filepath.Join(dir, name), admin("x")))
		if r.Code != code || !strings.Contains(r.Message+r.Why, dir) || !strings.Contains(r.Try, "export KUBECONFIG=FILE") {
			t.Errorf("%s: ended with %+v", name, r)
		}
	}
}

func TestPath(t *testing.T) {
	for _, tc := range []struct{ kubeconfig, home, want string }{
		{"/a:/b", "/h", "/a"},
		{":/b", "/h", "/b"},
		{"", "/h", "/h/.kube/config"},
		{"", "", ""},
	} {
		got, err := Path(func(k string) string { return map[string]string{"KUBECONFIG": tc.kubeconfig, "HOME": tc.home}[k] })
		if d := cmp.Diff(tc.want, got); d != "" || (err != nil) != (tc.want == "") {
			t.Errorf("%+v: %s %v", tc, d, err)
		}
	}
}
