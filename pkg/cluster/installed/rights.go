package installed

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Request is a request as the API server's audit log has it.
type Request struct {
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef *struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Refused reports whether the account had no right to make it.
func (q *Request) Refused() bool { return q.ResponseStatus.Code == http.StatusForbidden }

// resource is that of rules: with the subresource.
func (q *Request) resource() string {
	if q.ObjectRef.Subresource != "" {
		return q.ObjectRef.Resource + "/" + q.ObjectRef.Subresource
	}
	return q.ObjectRef.Resource
}

// Right returns the one that would permit the request, for all objects of the namespace.
func (q *Request) Right() Right {
	if q.ObjectRef == nil {
		path, _, _ := strings.Cut(q.RequestURI, "?")
		return Right{Verb: q.Verb, Resource: path}
	}
	return Right{Verb: q.Verb, Group: q.ObjectRef.APIGroup, Resource: q.resource(), Namespace: q.ObjectRef.Namespace}
}

// String is "get /api/v1/nodes/worker-1: 200".
func (q *Request) String() string {
	return fmt.Sprintf("%s %s: %d", q.Verb, q.RequestURI, q.ResponseStatus.Code)
}

// User returns what the API server calls the account.
func (i *Installation) User() string {
	return "system:serviceaccount:" + i.Namespace + ":" + i.ServiceAccount
}

// ReadAudit reads the requests of the users that are wanted from an audit log, in order. A watch is there twice: when it
// begins and when it ends. A line that is not complete yet is left out.
func ReadAudit(log io.Reader, wanted func(user string) bool) ([]Request, error) {
	var all []Request
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var q Request
		if json.Unmarshal(lines.Bytes(), &q) == nil && wanted(q.User.Username) {
			all = append(all, q)
		}
	}
	return all, lines.Err()
}

// Right permits a verb on a resource.
type Right struct {
	Verb, Group, Resource string
	// Name is the object that it is restricted to, Namespace the namespace; "" for all.
	Name, Namespace string
}

// String is "patch nodes/status", "get leases.coordination.k8s.io in kube-system".
func (r Right) String() string {
	s := r.Verb + " " + r.Resource
	if r.Group != "" {
		s += "." + r.Group
	}
	if r.Name != "" {
		s += " " + r.Name
	}
	if r.Namespace != "" {
		s += " in " + r.Namespace
	}
	return s
}

// Permits reports whether it permits a request.
func (r Right) Permits(q *Request) bool {
	o := q.ObjectRef
	is := func(pattern, text string) bool { return pattern == "*" || pattern == text }
	return o != nil && is(r.Verb, q.Verb) && is(r.Group, o.APIGroup) && is(r.Resource, q.resource()) &&
		(r.Name == "" || r.Name == o.Name) && (r.Namespace == "" || r.Namespace == o.Namespace)
}

// Rights returns what the manifest grants to its account, in the order of the bindings. Roles that the manifest does not have
// (those of Kubernetes) are left out.
func (i *Installation) Rights() []Right {
	var all []Right
	for _, o := range i.Objects {
		switch b := o.(type) {
		case *rbacv1.ClusterRoleBinding:
			if i.isFor(b.Subjects, "") {
				all = append(all, expand("", i.rules(b.RoleRef, ""))...)
			}
		case *rbacv1.RoleBinding:
			if i.isFor(b.Subjects, b.Namespace) {
				all = append(all, expand(b.Namespace, i.rules(b.RoleRef, b.Namespace))...)
			}
		}
	}
	return all
}

// isFor reports whether the account is one of the subjects of a binding in a namespace.
func (i *Installation) isFor(subjects []rbacv1.Subject, namespace string) bool {
	return slices.ContainsFunc(subjects, func(s rbacv1.Subject) bool {
		if s.Kind != rbacv1.ServiceAccountKind || s.Name != i.ServiceAccount {
			return false
		}
		return s.Namespace == i.Namespace || s.Namespace == "" && namespace == i.Namespace
	})
}

func (i *Installation) rules(ref rbacv1.RoleRef, namespace string) []rbacv1.PolicyRule {
	for _, o := range i.Objects {
		switch r := o.(type) {
		case *rbacv1.ClusterRole:
			if ref.Kind == "ClusterRole" && r.Name == ref.Name {
				return r.Rules
			}
		case *rbacv1.Role:
			if ref.Kind == "Role" && r.Name == ref.Name && r.Namespace == namespace {
				return r.Rules
			}
		}
	}
	return nil
}

// expand returns each verb of each resource of rules.
func expand(namespace string, rules []rbacv1.PolicyRule) []Right {
	var all []Right
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					for _, verb := range rule.Verbs {
						all = append(all, Right{verb, group, resource, name, namespace})
					}
				}
			}
		}
	}
	return all
}

// Refusal is a right that the account lacks, and how many requests were refused for that.
type Refusal struct {
	Right
	Times int
}

// String is "patch nodes/status (refused 12 times)".
func (r Refusal) String() string {
	if r.Times == 1 {
		return r.Right.String() + " (refused once)"
	}
	return fmt.Sprintf("%s (refused %d times)", r.Right, r.Times)
}

// Refused returns what the API server refused to the account, in the order of the first request.
func Refused(requests []Request) []Refusal {
	var all []Refusal
	for n := range requests {
		q := &requests[n]
		if !q.Refused() {
			continue
		}
		right := q.Right()
		at := slices.IndexFunc(all, func(r Refusal) bool { return r.Right == right })
		if at < 0 {
			at = len(all)
			all = append(all, Refusal{Right: right})
		}
		all[at].Times++
	}
	return all
}

// Unused returns the rights that none of the requests needed, by resource: "list, watch services". For a right to all verbs it
// names those that were used.
func (i *Installation) Unused(requests []Request) []string {
	var unused []string
	var verbsOf []Right // rights of one resource, with all its unused verbs
	for _, r := range i.Rights() {
		var verbs []string
		for n := range requests {
			if q := &requests[n]; !q.Refused() && r.Permits(q) && !slices.Contains(verbs, q.Verb) {
				verbs = append(verbs, q.Verb)
			}
		}
		slices.Sort(verbs)
		switch {
		case len(verbs) > 0 && r.Verb == "*":
			r.Verb = "all but " + strings.Join(verbs, ", ") + " of"
		case len(verbs) > 0:
			continue
		}
		same := func(o Right) bool { o.Verb = r.Verb; return o == r }
		if at := slices.IndexFunc(verbsOf, same); at >= 0 {
			verbsOf[at].Verb += ", " + r.Verb
		} else {
			verbsOf = append(verbsOf, r)
		}
	}
	for _, r := range verbsOf {
		unused = append(unused, r.String())
	}
	return unused
}
