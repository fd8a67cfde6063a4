package apis

import (
	"net/http"
	"strings"
	"sync"

	"github.com/vmware/govmomi/simulator"
)

// NFC serves the files of leases, for imports and exports. The address of a file has the lease, which is a secret, as in a vCenter.
// vcsim keeps the leases of all vCenters of a process together: this one answers for those of its sessions, for as long as the
// session is open.
type NFC struct {
	// Open reports whether a session is open, by its key. Required.
	Open func(session string) bool

	leases sync.Map // → *sync.Mutex
}

// NFCPath is the path of the files of leases.
const NFCPath = "/nfc/"

// ServeHTTP implements http.Handler. The transfers of one lease are one after the other: vcsim notes their sums in one map.
func (n *NFC) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lease, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, NFCPath), "/")
	after, ok := strings.CutPrefix(lease, "session[")
	key, _, closed := strings.Cut(after, "]")
	if !ok || !closed || !n.Open(key) || strings.Count(r.URL.Path, "/") != 3 {
		http.NotFound(w, r)
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodPut, http.MethodPost:
	default: // vcsim panics
		http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
		return
	}
	mu, _ := n.leases.LoadOrStore(lease, new(sync.Mutex))
	mu.(*sync.Mutex).Lock()
	defer mu.(*sync.Mutex).Unlock()
	simulator.ServeNFC(w, r)
}

// End forgets the leases of a session.
func (n *NFC) End(session string) {
	n.leases.Range(func(lease, _ any) bool {
		if strings.HasPrefix(lease.(string), "session["+session+"]") {
			n.leases.Delete(lease)
		}
		return true
	})
}
