package inventory

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/internal/vc"
)

// rest calls the vCenter's vAPI endpoint in process, before it listens.
type rest struct {
	ctx     context.Context
	handler http.Handler
	login   *url.Userinfo
	session string
}

const sessionPath = "/rest/com/vmware/cis/session"

func login(ctx context.Context, h http.Handler, u *url.Userinfo) (*rest, error) {
	r := &rest{ctx: ctx, handler: h, login: u}
	if err := r.call(http.MethodPost, sessionPath, nil, &r.session); err != nil {
		return nil, fmt.Errorf("login: %w", err)
	}
	return r, nil
}

// logout ignores errors: the session would expire.
func (r *rest) logout() { _ = r.call(http.MethodDelete, sessionPath, nil, nil) }

func (r *rest) call(method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(r.ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	if r.session != "" {
		q.Header.Set("vmware-api-session-id", r.session)
	} else {
		password, _ := r.login.Password()
		q.SetBasicAuth(r.login.Username(), password)
	}
	w := &answer{status: http.StatusOK, header: make(http.Header)}
	r.handler.ServeHTTP(w, q)
	if w.status != http.StatusOK {
		return fmt.Errorf("%s %s: status %d: %s", method, path, w.status, bytes.TrimSpace(w.body.Bytes()))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(w.body.Bytes(), &struct{ Value any }{out}); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

const tagging = "/rest/com/vmware/cis/tagging"

// Category implements [Tagger].
func (r *rest) Category(id, name, description, cardinality string, types []string) error {
	return r.call(http.MethodPost, tagging+"/category", map[string]any{"create_spec": map[string]any{
		"category_id": id, "name": name, "description": description, "cardinality": cardinality, "associable_types": types,
	}}, nil)
}

// Tag implements [Tagger].
func (r *rest) Tag(id, category, name, description string) error {
	return r.call(http.MethodPost, tagging+"/tag", map[string]any{"create_spec": map[string]any{
		"tag_id": id, "category_id": category, "name": name, "description": description,
	}}, nil)
}

// Attach implements [Tagger].
func (r *rest) Attach(tag string, ref vc.Ref) error {
	return r.call(http.MethodPost, tagging+"/tag-association/id:"+tag+"?~action=attach",
		map[string]any{"object_id": map[string]string{"type": ref.Type, "id": ref.Value}}, nil)
}

// answer is the response of a handler, in memory. (The recorder of net/http/httptest brings a command-line flag along.)
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
