package lab

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// Refused are the requests of a user that the API server's authorizer turned down, each once, as "get
// /api/v1/namespaces/…". It needs [Options].Audit.
func (l *Lab) Refused(user string) []string {
	l.t.Helper()
	f, err := os.Open(filepath.Join(l.Dir, "cluster", "logs", "audit.log"))
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	var all []string
	seen, asked := map[string]bool{}, 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct {
			Verb, RequestURI string
			User             struct{ Username string }
			ResponseStatus   struct{ Code int }
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.User.Username != user {
			continue // the last line may be half written
		}
		asked++
		what := fmt.Sprintf("%s %s", e.Verb, e.RequestURI)
		if e.ResponseStatus.Code == http.StatusForbidden && !seen[what] {
			seen[what] = true
			all = append(all, what)
		}
	}
	if err := lines.Err(); err != nil {
		l.t.Fatal(err)
	}
	if asked == 0 {
		l.t.Fatalf("the audit log has no request of %s", user)
	}
	return all
}
