package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// Resource is a resource with a namespace.
type Resource struct {
	Group, Version string
	// Name is the plural, as in URLs.
	Name string
}

// String returns the resource as kubectl names it.
func (r Resource) String() string { return r.Name + "." + r.Version + "." + r.Group }

var (
	// ErrUnavailable reports that the Supervisor cannot be reached or does not serve now.
	ErrUnavailable = errors.New("the Supervisor is not available")
	// ErrUnauthorized reports that it does not accept the token.
	ErrUnauthorized = errors.New("the Supervisor does not accept the token")
	// ErrForbidden reports that the service account lacks a right.
	ErrForbidden = errors.New("the service account has no right")
	// ErrNoAPI reports that the API server has no such resource: it is not a Supervisor, or of another version.
	ErrNoAPI = errors.New("the API is missing")
)

// IsObjectNotFound reports whether err means that the Supervisor has the resource, but no object with this name. It is false if
// the resource itself is missing, for which an API server answers with the same status code.
func IsObjectNotFound(err error) bool {
	return apierrors.IsNotFound(err) && !errors.Is(err, ErrNoAPI)
}

// pageSize is how many objects a list asks for at once.
const pageSize = 500

// Get reads an object.
func (c *Connection) Get(ctx context.Context, r Resource, namespace, name string, into any) error {
	return c.do(ctx, r, c.request(http.MethodGet, r, namespace).Suffix(name), into)
}

// Create creates an object and reads the result.
func (c *Connection) Create(ctx context.Context, r Resource, namespace string, object, into any) error {
	return c.send(ctx, r, c.request(http.MethodPost, r, namespace), object, into)
}

// Update replaces an object and reads the result. The object has the resourceVersion that it was read with.
func (c *Connection) Update(ctx context.Context, r Resource, namespace, name string, object, into any) error {
	return c.send(ctx, r, c.request(http.MethodPut, r, namespace).Suffix(name), object, into)
}

// Delete deletes an object. An empty uid deletes any of this name.
func (c *Connection) Delete(ctx context.Context, r Resource, namespace, name, uid string) error {
	options := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}}
	if uid != "" {
		options.Preconditions = metav1.NewUIDPreconditions(uid)
	}
	return c.send(ctx, r, c.request(http.MethodDelete, r, namespace).Suffix(name), options, nil)
}

// List reads all objects, or those with the labels of selector, in pages of one snapshot. It reads from the Supervisor's
// database, not from a cache of its API server. each gets one object at a time; it must not keep the bytes. List returns the
// resource version to watch from.
func (c *Connection) List(ctx context.Context, r Resource, namespace, selector string, each func([]byte) error) (version string, err error) {
	next := ""
	for {
		request := c.request(http.MethodGet, r, namespace).Param("limit", strconv.Itoa(pageSize))
		if selector != "" {
			request.Param("labelSelector", selector)
		}
		if next != "" {
			request.Param("continue", next)
		}
		var page struct {
			Metadata metav1.ListMeta   `json:"metadata"`
			Items    []json.RawMessage `json:"items"`
		}
		if err := c.do(ctx, r, request, &page); err != nil {
			return "", err
		}
		if page.Metadata.ResourceVersion == "" {
			return "", fmt.Errorf("%w: %s: the answer is no list", ErrUnavailable, r)
		}
		for _, item := range page.Items {
			if err := each(item); err != nil {
				return "", err
			}
		}
		if next = page.Metadata.Continue; next == "" {
			return page.Metadata.ResourceVersion, nil
		}
	}
}

// Event is a change that a watch reports: Type is ADDED, MODIFIED, DELETED or BOOKMARK.
type Event struct {
	Type   string
	Object json.RawMessage
}

// ErrExpired reports that a watch cannot continue from its resource version.
var ErrExpired = errors.New("the resource version is too old")

// watchSilence is how long a watch may be silent. API servers send a bookmark each minute.
const watchSilence = 150 * time.Second

// Watch calls each for every change after version, until the Supervisor ends the watch (nil), it fails, each fails or ctx ends.
func (c *Connection) Watch(ctx context.Context, r Resource, namespace, version string, each func(Event) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// An API server begins to answer at once.
	watchdog := time.AfterFunc(c.cfg.CallTimeout, func() { cancel(fmt.Errorf("%w: the watch is silent", ErrUnavailable)) })
	defer watchdog.Stop()
	stream, err := c.request(http.MethodGet, r, namespace).
		Param("watch", "true").Param("allowWatchBookmarks", "true").Param("resourceVersion", version).Stream(ctx)
	if cause := context.Cause(ctx); cause != nil && err != nil {
		err = cause
	}
	if err := c.observe(ctx, err, r); err != nil {
		return expired(err)
	}
	watchdog.Reset(watchSilence)
	defer func() { _ = stream.Close() }()
	frames := json.NewDecoder(stream)
	for {
		var frame struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := frames.Decode(&frame); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				return cause
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return c.observe(ctx, fmt.Errorf("%w: %w", ErrUnavailable, err), r)
		}
		watchdog.Reset(watchSilence)
		if frame.Type == "ERROR" {
			var status metav1.Status
			if err := decode(frame.Object, &status); err != nil {
				return err
			}
			return expired(c.observe(ctx, &apierrors.StatusError{ErrStatus: status}, r))
		}
		if err := each(Event{frame.Type, frame.Object}); err != nil {
			return err
		}
	}
}

func expired(err error) error {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return fmt.Errorf("%w: %w", ErrExpired, err)
	}
	return err
}

func (c *Connection) request(verb string, r Resource, namespace string) *rest.Request {
	return c.rest.Verb(verb).AbsPath("apis", r.Group, r.Version, "namespaces", namespace, r.Name)
}

func (c *Connection) send(ctx context.Context, r Resource, request *rest.Request, object, into any) error {
	body, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("%s: %w", r, err)
	}
	return c.do(ctx, r, request.SetHeader("Content-Type", "application/json").Body(body), into)
}

func (c *Connection) do(ctx context.Context, r Resource, request *rest.Request, into any) error {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.CallTimeout)
	defer cancel()
	// MaxRetries(0): the callers retry, and each call has its time.
	result := request.MaxRetries(0).Do(ctx)
	err := result.Error() // unlike Raw, it decodes the server's Status
	if err == nil {
		var data []byte
		if data, err = result.Raw(); err == nil {
			err = decode(data, into)
		}
	}
	return c.observe(ctx, err, r)
}

// explain returns err with what it means for the caller.
func (c *Connection) explain(ctx context.Context, err error, r Resource) error {
	if err == nil || errors.Is(err, ErrUnavailable) {
		return err
	}
	status, answered := errors.AsType[*apierrors.StatusError](err)
	if !answered {
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, c.URL(), err)
	}
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%w in %s: it has expired, or is not of this Supervisor: %w", ErrUnauthorized, c.cfg.Directory, err)
	case apierrors.IsForbidden(err) && strings.Contains(status.ErrStatus.Message, "exceeded quota"):
		return err
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w: %w", ErrForbidden, err)
	case apierrors.IsNotFound(err) && unexpected(status):
		return fmt.Errorf("%w: %s has no %s%s", ErrNoAPI, c.URL(), r, c.insteadOf(ctx, r, err))
	case status.ErrStatus.Code >= http.StatusInternalServerError, apierrors.IsTooManyRequests(err), unexpected(status):
		return fmt.Errorf("%w: %s: %w", ErrUnavailable, c.URL(), err)
	}
	return err
}

// unexpected reports whether the server's answer was not a Status, as for a path that it does not serve.
func unexpected(s *apierrors.StatusError) bool {
	return apierrors.HasStatusCause(s, metav1.CauseTypeUnexpectedServerResponse)
}

// insteadOf describes what the API server has in place of a resource that is missing.
func (c *Connection) insteadOf(ctx context.Context, r Resource, missing error) string {
	guest := ""
	if c.leadsToGuest() {
		guest = fmt.Sprintf(": %s in %s is the authority of the guest cluster itself, so that it leads to the guest instead of the Supervisor", caFile, c.cfg.Directory)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.CallTimeout)
	defer cancel()
	var group metav1.APIGroup
	result := c.rest.Get().AbsPath("apis", r.Group).MaxRetries(0).Do(ctx)
	err := result.Error()
	if err == nil {
		data, _ := result.Raw()
		err = json.Unmarshal(data, &group)
	}
	switch {
	case apierrors.IsNotFound(err):
		if guest == "" {
			guest = ": it is not a Supervisor, or its operator is not installed"
		}
		return fmt.Sprintf(", and no API %s%s", r.Group, guest)
	case err != nil:
		return fmt.Sprintf(" (%v)%s", missing, guest)
	}
	var versions []string
	for _, v := range group.Versions {
		if v.Version == r.Version {
			return fmt.Sprintf(": its version %s has no %s%s", r.Version, r.Name, guest)
		}
		versions = append(versions, v.Version)
	}
	return fmt.Sprintf(": it has %s in %s only%s", r.Group, strings.Join(versions, ", "), guest)
}
