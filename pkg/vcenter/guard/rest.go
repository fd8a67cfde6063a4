package guard

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// association is where tags are put on objects and taken off.
const association = "/com/vmware/cis/tagging/tag-association"

// inREST says what a request of the Automation API intends that is neither GET nor HEAD.
func inREST(r *http.Request, body []byte) (Intent, error) {
	actions := slices.Concat(r.URL.Query()["~action"], r.URL.Query()["action"])
	action := strings.Join(actions, ",") // of two, a vCenter may take either: there is no action of that name
	in := Intent{Method: r.Method + " " + r.URL.Path}
	if action != "" {
		in.Method += "?action=" + action
	}
	p := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/rest"), "/api")
	switch {
	case p == "/com/vmware/cis/session", p == "/session": // login, logout, and whose it is
		return in, nil
	case r.Method == http.MethodPost && len(actions) == 1 && asks(action):
		return in, nil
	}
	in.Write = true
	id, ok := strings.CutPrefix(p, association+"/id:")
	if !ok {
		id, ok = strings.CutPrefix(p, "/cis/tagging/tag-association/")
	}
	if ok && r.Method == http.MethodPost && (action == "attach" || action == "detach") && !strings.Contains(id, "/") {
		var said struct {
			Object struct{ Type, ID string } `json:"object_id"`
		}
		if err := json.Unmarshal(body, &said); err != nil {
			return in, err
		}
		if said.Object.Type == "VirtualMachine" && said.Object.ID != "" {
			in.VM = types.ManagedObjectReference{Type: said.Object.Type, Value: said.Object.ID}
			in.Do.Kind, in.Do.With = map[string]string{"attach": attachTag, "detach": detachTag}[action], map[string]string{tagID: id}
		}
	}
	return in, nil
}

// asks tells whether an action of the Automation API changes nothing.
func asks(action string) bool {
	for _, prefix := range []string{"list", "get", "find", "query", "search"} {
		if action == prefix || strings.HasPrefix(action, prefix+"-") {
			return true
		}
	}
	return false
}
