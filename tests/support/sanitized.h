/* Which sanitizer a test was built with: their allocators do not survive being refused memory, and
 * time runs differently under them. */
#ifndef PROBE_TESTS_SUPPORT_SANITIZED_H
#define PROBE_TESTS_SUPPORT_SANITIZED_H

#ifdef __has_feature /* clang's word for what gcc defines */
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

#ifdef __SANITIZE_THREAD__
#define THREAD_SANITIZED 1
#else
#define THREAD_SANITIZED 0
#endif

#if defined(__SANITIZE_ADDRESS__) || THREAD_SANITIZED
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#endif
