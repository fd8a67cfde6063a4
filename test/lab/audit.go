package lab

import (
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/installed"
)

// Requests are those of a user, as the audit log has them. It needs [Options].Audit. A log without any fails the test.
func (l *Lab) Requests(user string) []installed.Request {
	l.t.Helper()
	f, err := os.Open(filepath.Join(l.Dir, "cluster", "logs", "audit.log"))
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	all, err := installed.ReadAudit(f, func(name string) bool { return name == user })
	if err != nil {
		l.t.Fatal(err)
	}
	if len(all) == 0 {
		l.t.Fatalf("the audit log has no request of %s", user)
	}
	return all
}

// Refused is what the API server's authorizer turned down of a user's requests. It needs [Options].Audit.
func (l *Lab) Refused(user string) []installed.Refusal { return installed.Refused(l.Requests(user)) }
