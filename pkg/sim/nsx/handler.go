package nsx

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/nsx/tree"
)

// base is the path of the Policy API.
const base = "/policy/api/v1"

// maxBody limits a request, in bytes.
const maxBody = 1 << 20

// version is the release whose Policy API this one is like.
const version = "4.1.2.3.0.23382408"

func (m *Manager) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/session/create", m.createSession)
	mux.HandleFunc("GET /api/session/destroy", m.destroySession)
	mux.HandleFunc("POST /api/session/destroy", m.destroySession)
	mux.Handle("GET /api/v1/node/version", m.authenticated(func(w http.ResponseWriter, _ *http.Request, _ Account) {
		answer(w, tree.Object{"product_version": version, "node_version": version})
	}))
	mux.Handle("GET "+base+"/search/query", m.authenticated(m.search))
	mux.Handle("GET "+base+"/infra/realized-state/realized-entities", m.authenticated(m.realized))
	mux.Handle("/", m.authenticated(m.object))
	return mux
}

// createSession answers POST /api/session/create.
func (m *Manager) createSession(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	a, ok := m.accounts.check(r.PostFormValue("j_username"), r.PostFormValue("j_password"), false)
	if !ok {
		refuse(w, badCredentials())
		return
	}
	id, token := m.sessions.create(a.User)
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: id, Path: "/", Secure: true, HttpOnly: true})
	w.Header().Set(tokenHeader, token)
}

// destroySession answers /api/session/destroy.
func (m *Manager) destroySession(w http.ResponseWriter, r *http.Request) {
	id, _, valid, token := m.sessions.of(r)
	switch {
	case !valid:
		refuse(w, noSession())
	case !token:
		refuse(w, badToken())
	default:
		m.sessions.end(id)
	}
}

// identify implements [gate.Options].Identify.
func (m *Manager) identify(r *http.Request) (id, user string) {
	if id, user, valid, _ := m.sessions.of(r); valid {
		return id, user
	}
	if user, _, _, ok := basic(r); ok {
		return "", user
	}
	a, _ := m.accounts.certified(r)
	return "", a.User
}

// authenticate returns the account of a request.
func (m *Manager) authenticate(r *http.Request) (Account, error) {
	if user, password, remote, ok := basic(r); ok {
		if a, ok := m.accounts.check(user, password, remote); ok {
			return a, nil
		}
		return Account{}, badCredentials()
	}
	if id, user, valid, token := m.sessions.of(r); id != "" {
		switch a, known := m.accounts.get(user); {
		case !valid || !known:
			return Account{}, noSession()
		case !token:
			return Account{}, badToken()
		default:
			return a, nil
		}
	}
	if a, ok := m.accounts.certified(r); ok {
		if m.accounts.rejects(a.User) {
			return Account{}, badCredentials()
		}
		return a, nil
	}
	return Account{}, noSession()
}

func (m *Manager) authenticated(next func(http.ResponseWriter, *http.Request, Account)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, err := m.authenticate(r)
		if err != nil {
			refuse(w, err)
			return
		}
		next(w, r, a)
	})
}

// search answers GET /policy/api/v1/search/query.
func (m *Manager) search(w http.ResponseWriter, r *http.Request, _ Account) {
	page, err := pageOf(r)
	if err != nil {
		refuse(w, err)
		return
	}
	found, err := m.tree.Search(r.URL.Query().Get("query"), page)
	reply(w, found.JSON(), err)
}

// realized answers GET /policy/api/v1/infra/realized-state/realized-entities.
func (m *Manager) realized(w http.ResponseWriter, r *http.Request, _ Account) {
	entity, err := m.tree.Realize(r.URL.Query().Get("intent_path"))
	reply(w, tree.Result{Objects: []tree.Object{entity}, Count: 1, SortBy: "display_name"}.JSON(), err)
}

// object answers calls of an object or a collection.
func (m *Manager) object(w http.ResponseWriter, r *http.Request, a Account) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), base)
	if !ok || strings.Contains(path, "%") || !m.tree.IsObject(path) && !m.tree.IsCollection(path) {
		refuse(w, &tree.Error{Status: http.StatusNotFound, Code: 404, Module: "policy", Message: fmt.Sprintf("No operation of this manager has the path %s.", r.URL.Path)})
		return
	}
	if m.tree.IsCollection(path) {
		m.list(w, r, path)
		return
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		o, err := m.tree.Get(path)
		reply(w, o, err)
	case http.MethodPut, http.MethodPatch, http.MethodDelete:
		if !a.may(path) {
			refuse(w, notAllowed(a.User))
			return
		}
		m.change(w, r, path, a.User)
	default:
		refuse(w, notSupported(r.Method))
	}
}

// list answers GET of a collection.
func (m *Manager) list(w http.ResponseWriter, r *http.Request, collection string) {
	if r.Method != http.MethodGet {
		refuse(w, notSupported(r.Method))
		return
	}
	page, err := pageOf(r)
	if err != nil {
		refuse(w, err)
		return
	}
	found, err := m.tree.List(collection, page)
	reply(w, found.JSON(), err)
}

// change answers PUT, PATCH and DELETE of an object.
func (m *Manager) change(w http.ResponseWriter, r *http.Request, path, user string) {
	if r.Method == http.MethodDelete {
		if err := m.tree.Delete(path, user, r.URL.Query().Get("force") == "true"); err != nil {
			refuse(w, err)
		}
		return
	}
	o, err := body(w, r)
	if err != nil {
		refuse(w, err)
		return
	}
	if r.Method == http.MethodPatch {
		if err := m.tree.Patch(path, o, user); err != nil {
			refuse(w, err)
		}
		return
	}
	stored, err := m.tree.Put(path, o, user)
	reply(w, stored, err)
}

// pageOf returns the page that the query of a request selects.
func pageOf(r *http.Request) (tree.Page, error) {
	q := r.URL.Query()
	p := tree.Page{
		Cursor: q.Get("cursor"), SortBy: q.Get("sort_by"), Descending: q.Get("sort_ascending") == "false",
		Deleted: q.Get("include_mark_for_delete_objects") == "true",
	}
	if names := q.Get("included_fields"); names != "" {
		p.Fields = strings.Split(names, ",")
	}
	if size := q.Get("page_size"); size != "" {
		n, err := strconv.Atoi(size)
		if err != nil || n < 0 || n > tree.MaxPage {
			return tree.Page{}, badRequest("page_size must be between 0 and %d", tree.MaxPage)
		}
		p.Size = n
	}
	return p, nil
}

// body returns the object in the body of a request.
func body(w http.ResponseWriter, r *http.Request) (tree.Object, error) {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, badRequest("the body is no JSON: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, badRequest("more than one JSON value is in the body")
	}
	o, ok := object(v).(tree.Object)
	if !ok {
		return nil, badRequest("the body is no JSON object")
	}
	return o, nil
}

// object returns a JSON value with objects as the tree has them.
func object(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := make(tree.Object, len(v))
		for key, value := range v {
			o[key] = object(value)
		}
		return o
	case []any:
		for i := range v {
			v[i] = object(v[i])
		}
	}
	return v
}

// reply answers with an object, or with an error.
func reply(w http.ResponseWriter, o tree.Object, err error) {
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, o)
}

func answer(w http.ResponseWriter, o tree.Object) {
	text, err := json.Marshal(o)
	if err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client may have disconnected
}

// refuse answers with an error, as NSX does.
func refuse(w http.ResponseWriter, err error) {
	e := (*tree.Error)(nil)
	if !errors.As(err, &e) {
		e = &tree.Error{Status: http.StatusInternalServerError, Code: 500, Module: "common-services", Message: err.Error()}
	}
	gate.WritePolicyError(w, e.Status, e.Code, e.Module, e.Message)
}

const common = "common-services"

func badRequest(format string, args ...any) error {
	return &tree.Error{Status: http.StatusBadRequest, Code: 220, Module: common, Message: fmt.Sprintf(format, args...)}
}

func badCredentials() error {
	return &tree.Error{Status: http.StatusForbidden, Code: 403, Module: common, Message: "The credentials were incorrect or the account specified has been locked."}
}

func badToken() error {
	return &tree.Error{Status: http.StatusForbidden, Code: 98, Module: common, Message: "The request has no valid " + tokenHeader + "."}
}

func noSession() error {
	return &tree.Error{Status: http.StatusUnauthorized, Code: 401, Module: common, Message: "The request needs authentication, or its session has ended."}
}

func notAllowed(user string) error {
	return &tree.Error{Status: http.StatusForbidden, Code: 401, Module: common, Message: fmt.Sprintf("User %s is not authorized to perform this operation.", user)}
}

func notSupported(method string) error {
	return &tree.Error{Status: http.StatusMethodNotAllowed, Code: 405, Module: common, Message: "The method " + method + " is not supported here."}
}
