package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// header has the session ID, as does a cookie with the same name.
const header = "vmware-api-session-id"

// noCookie is the header with which a client declines a cookie.
const noCookie = "vmware-use-header-authn"

// session handles calls on the session.
func (h *Handler) session(w http.ResponseWriter, r *http.Request, api bool) {
	action := r.URL.Query().Get(actionKey(api))
	switch {
	case r.Method == http.MethodPost && action == "":
		h.login(w, r, api)
	case r.Method == http.MethodGet && action == "", r.Method == http.MethodPost && action == "get" && !api:
		id, _, ok := h.authenticate(r)
		if !ok {
			loginRequired().write(w, api)
			return
		}
		write(w, api, http.StatusOK, h.details.get(id))
	case r.Method == http.MethodDelete && action == "":
		id, _, ok := h.authenticate(r)
		if !ok {
			loginRequired().write(w, api)
			return
		}
		h.close(id)
		write(w, api, http.StatusNoContent, nil)
	default:
		noOperation().write(w, api)
	}
}

// open opens a session for user and password.
func (h *Handler) open(user, password string) (id string, f *fault) {
	if !h.opts.Valid(user, password) {
		return "", loginRequired()
	}
	return h.openFor(user)
}

// openFor opens a session for a user who was authenticated.
func (h *Handler) openFor(user string) (id string, f *fault) {
	id, err := h.opts.Sessions.OpenREST(user)
	if err != nil {
		return "", newFault(unavailable, msgTooMany, err.Error())
	}
	h.details.open(id, user, time.Now())
	return id, nil
}

// login opens a session for user and password, or for a token.
func (h *Handler) login(w http.ResponseWriter, r *http.Request, api bool) {
	var (
		id string
		f  = loginRequired()
	)
	if user, password, ok := r.BasicAuth(); ok {
		id, f = h.open(user, password)
	} else if user, ok := h.opts.Token(r.Header.Get("Authorization")); ok {
		id, f = h.openFor(user)
	}
	if f != nil {
		f.write(w, api)
		return
	}
	if !strings.EqualFold(r.Header.Get(noCookie), "true") {
		path := restPrefix
		if api {
			path = apiPrefix
		}
		http.SetCookie(w, &http.Cookie{Name: header, Value: id, Path: path, Secure: r.TLS != nil, HttpOnly: true})
	}
	write(w, api, http.StatusCreated, id)
}

// authenticate returns the session of the call.
func (h *Handler) authenticate(r *http.Request) (id, user string, ok bool) {
	if id = r.Header.Get(header); id == "" {
		cookie, err := r.Cookie(header)
		if err != nil {
			return "", "", false
		}
		id = cookie.Value
	}
	if user, ok = h.touch(id); !ok {
		return "", "", false
	}
	return id, user, true
}

// touch returns the user of a session that is in use; false if it has ended.
func (h *Handler) touch(id string) (user string, ok bool) {
	if user, ok = h.opts.Sessions.TouchREST(id); !ok {
		h.details.drop(id)
		return "", false
	}
	h.details.touch(id, user, time.Now())
	return user, true
}

// close ends a session.
func (h *Handler) close(id string) {
	h.opts.Sessions.CloseREST(id)
	h.EndSession(id)
}

// EndSession drops the details of an ended session.
func (h *Handler) EndSession(id string) { h.details.drop(id) }

func actionKey(api bool) string {
	if api {
		return "action"
	}
	return "~action"
}

// write answers with a value in the form of /api or of /rest, which has only one success status. A nil value means no body.
func write(w http.ResponseWriter, api bool, status int, value any) {
	switch {
	case api && value == nil:
		w.WriteHeader(http.StatusNoContent)
	case api:
		writeJSON(w, status, value)
	case value == nil:
		w.WriteHeader(http.StatusOK)
	default:
		writeJSON(w, http.StatusOK, struct {
			Value any `json:"value"`
		}{value})
	}
}

// pass passes the call to Next, with the inner session.
func (h *Handler) pass(w http.ResponseWriter, r *http.Request) {
	api := isAPI(r.URL.Path)
	_, user, ok := h.authenticate(r)
	switch {
	case ok && !h.opts.MayCall(user, r.Method, r.URL.Path):
		forbidden().write(w, api)
		return
	case ok:
		id, err := h.inner.session()
		if err != nil {
			newFault(internalError, "", err.Error()).write(w, api)
			return
		}
		r = r.Clone(r.Context())
		r.Header.Set(header, id)
	case strings.HasPrefix(r.URL.Path, restData):
		// Next knows the sessions of uploads, which authorize themselves.
	default:
		loginRequired().write(w, api)
		return
	}
	seen := &seen{ResponseWriter: w}
	defer func() {
		// vcsim does not validate bodies.
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); seen.wrote || ok && errors.Is(err, http.ErrAbortHandler) {
			panic(http.ErrAbortHandler)
		}
		newFault(internalError, "", fmt.Sprint(p)).write(w, api)
	}()
	h.opts.Next.ServeHTTP(seen, r)
}

// seen records whether an answer has begun.
type seen struct {
	http.ResponseWriter
	wrote bool
}

func (s *seen) WriteHeader(status int) {
	s.wrote = true
	s.ResponseWriter.WriteHeader(status)
}

func (s *seen) Write(b []byte) (int, error) {
	s.wrote = true
	return s.ResponseWriter.Write(b)
}

// Unwrap supports http.ResponseController.
func (s *seen) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// inner is the single session with Next for the calls of all sessions. It is opened when needed, and again after it has expired.
type inner struct {
	next http.Handler

	mu sync.Mutex
	id string
}

// session returns the ID of a session that Next accepts.
func (i *inner) session() (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.id != "" {
		if a, err := i.call(http.MethodPost, "?~action=get"); err == nil && a.status == http.StatusOK {
			return i.id, nil
		}
		i.id = ""
	}
	a, err := i.call(http.MethodPost, "")
	if err != nil {
		return "", err
	}
	var id struct {
		Value string `json:"value"`
	}
	if a.status == http.StatusNotFound {
		return "", nil // Next has no sessions
	}
	if err := json.Unmarshal(a.body.Bytes(), &id); err != nil || a.status != http.StatusOK {
		return "", fmt.Errorf("inner session: status %d", a.status)
	}
	i.id = id.Value
	return i.id, nil
}

func (i *inner) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.id != "" {
		_, _ = i.call(http.MethodDelete, "") // it would expire
		i.id = ""
	}
}

// call makes a call on the session. Next requires a token, but does not check it.
func (i *inner) call(method, query string) (*answer, error) {
	r, err := http.NewRequest(method, restSession+query, http.NoBody) //nolint:noctx // answered at once, in process
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "SIGN in-process")
	r.Header.Set(noCookie, "true")
	if i.id != "" {
		r.Header.Set(header, i.id)
	}
	a := &answer{status: http.StatusOK, header: make(http.Header)}
	i.next.ServeHTTP(a, r)
	return a, nil
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
