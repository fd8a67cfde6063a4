package dialect

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"

	"github.com/vmware/govmomi/vim25"
)

// Handler corrects the answers of next, the SOAP endpoint below /sdk. Other paths pass through unchanged.
func Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && strings.HasPrefix(r.URL.Path, vim25.Path) {
			w = &writer{ResponseWriter: w, old: before68(r.Header.Get("SOAPAction"))}
		}
		next.ServeHTTP(w, r)
	})
}

// writer corrects an answer, which vcsim writes in one piece.
type writer struct {
	http.ResponseWriter
	old bool // the client asks for a version before 6.8
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (int, error) {
	out := p
	if bytes.HasPrefix(p, []byte("<?xml")) {
		if w.old {
			out = dropNewer(out)
		}
		out = typeElements(out)
	}
	if _, err := w.ResponseWriter.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// before68 reports that a SOAPAction asks for a version of the vSphere API before 6.8: "urn:vim25/6.7.1". One without a version,
// or with one that is no number, gets everything.
func before68(action string) bool {
	_, version, ok := strings.Cut(strings.Trim(action, `"`), "urn:vim25/")
	if !ok {
		return false
	}
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	a, err := strconv.Atoi(major)
	b, minorErr := strconv.Atoi(minor)
	return err == nil && (a < 6 || a == 6 && (minorErr != nil || b < 8))
}
