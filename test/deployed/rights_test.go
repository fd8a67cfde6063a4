package deployed

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// rights are all that the manifest grants.
func (m manifest) rights(t *testing.T) []installed.Right {
	t.Helper()
	var text bytes.Buffer
	for _, o := range m {
		document, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(document) + "\n")
	}
	i, err := installed.Read(folder, text.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return i.Rights()
}

// listRights are needed by hardly anybody whom the API server streams its lists to, as a watch, which it does since
// Kubernetes 1.34: when such a stream does not come about. TestHandover shows that they are needed otherwise.
func listRights() map[string]bool {
	return map[string]bool{"list nodes": true, "list secrets vsphere-cloud-secret in kube-system": true}
}

// checkRefusals: nothing that the account asked for was refused.
func (w *world) checkRefusals() {
	w.t.Helper()
	for _, r := range w.Refused(lab.ServiceAccountUser) {
		w.t.Errorf("the account lacks: %s", r)
	}
}

// needed counts the requests that needed each right. Each of them needs one of the manifest's, or none.
func (w *world) needed() map[string]int {
	w.t.Helper()
	count := map[string]int{}
	granted := w.manifest.rights(w.t)
	requests := w.Requests(lab.ServiceAccountUser)
	for n := range requests {
		q := &requests[n]
		i := slices.IndexFunc(granted, func(r installed.Right) bool { return r.Permits(q) })
		switch {
		case i >= 0:
			count[granted[i].String()]++
		case q.ObjectRef == nil && everybodys(q):
		default:
			w.t.Errorf("not by a right of the manifest: %s", q)
		}
	}
	return count
}

// checkRights: each right of the manifest was needed, but for listRights.
func (w *world) checkRights() {
	w.t.Helper()
	needed, lists := w.needed(), listRights()
	for _, r := range w.manifest.rights(w.t) {
		n := needed[r.String()]
		w.t.Logf("%-70s %d", r, n)
		if n == 0 && !lists[r.String()] {
			w.t.Errorf("%s: granted, and not needed", r)
		}
		delete(lists, r.String())
	}
	for r := range lists {
		w.t.Errorf("%s: not granted", r)
	}
}

// everybodys reports whether every authenticated account may do that: roles system:discovery and system:public-info-viewer.
func everybodys(q *installed.Request) bool {
	return q.Verb == "get" && slices.ContainsFunc([]string{"/api", "/apis", "/version", "/healthz"}, func(path string) bool {
		return q.RequestURI == path || strings.HasPrefix(q.RequestURI, path+"/") || strings.HasPrefix(q.RequestURI, path+"?")
	})
}
