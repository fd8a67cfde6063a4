package deployed

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/test/lab"
)

// request is one that the account made, as the API server's audit log has it.
type request struct {
	Verb, RequestURI string
	User             struct{ Username string }
	ObjectRef        *struct{ Resource, Namespace, Name, APIGroup, Subresource string }
	ResponseStatus   struct{ Code int }
	Annotations      map[string]string
}

// refused reports whether the account was not permitted to.
func (r request) refused() bool { return r.ResponseStatus.Code == http.StatusForbidden }

// resource is that of rules: with the subresource.
func (r request) resource() string {
	if r.ObjectRef.Subresource != "" {
		return r.ObjectRef.Resource + "/" + r.ObjectRef.Subresource
	}
	return r.ObjectRef.Resource
}

func (r request) String() string {
	return fmt.Sprintf("%s %s: %d, %s", r.Verb, r.RequestURI, r.ResponseStatus.Code, r.Annotations["authorization.k8s.io/reason"])
}

// requests are all of the account, in order. A watch is there twice: when it begins and when it ends.
func (w *world) requests() []request {
	w.t.Helper()
	f, err := os.Open(filepath.Join(w.Dir, "cluster", "logs", "audit.log"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	var all []request
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.User.Username != lab.ServiceAccountUser {
			continue // the last line may be half written
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		w.t.Fatal(err)
	}
	if len(all) == 0 {
		w.t.Fatal("the account asked for nothing")
	}
	return all
}
