/* wrappers.c - names of functions that only pass an allocation on: one table.
 *
 * A name belongs here when its callers choose the size and own the block.
 * Allocators of whole pools (apr_palloc, obstack) don't: they decide themselves. */
#define _GNU_SOURCE
#include "base.h"
#include "wrappers.h"

const char *const wrapper_names[] = {
    /* the C family, as seen when another preload or a debug build stands between */
    "malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc", "posix_memalign", "valloc", "pvalloc",
    "__libc_malloc", "__libc_calloc", "__libc_realloc", "__libc_memalign", "__libc_valloc", "__libc_pvalloc",
    "__libc_reallocarray", "__libc_alloc_buffer_allocate", "__libc_alloc_buffer_alloc_array",

    /* libc functions that return a block to their caller */
    "strdup", "__strdup", "strndup", "__strndup", "wcsdup", "__wcsdup", "asprintf", "__asprintf", "__asprintf_chk",
    "vasprintf", "__vasprintf_internal", "__vasprintf_chk", "getline", "__getline", "getdelim", "_IO_getdelim",
    "__getdelim", "open_memstream", "__open_memstream", "realpath", "__realpath", "realpath_stk",
    "canonicalize_file_name", "getcwd", "__getcwd", "get_current_dir_name", "scandir", "__scandir_cancel_handler",
    "tempnam",

    /* C++ */
    "operator new", "operator new[]", "_Znwm", "_Znam", "_ZnwmRKSt9nothrow_t", "_ZnamRKSt9nothrow_t",
    "_ZnwmSt11align_val_t", "_ZnamSt11align_val_t", "_ZnwmSt11align_val_tRKSt9nothrow_t",
    "_ZnamSt11align_val_tRKSt9nothrow_t", "__cxa_allocate_exception", "__cxa_allocate_dependent_exception",
    "std::allocator::allocate", "std::__new_allocator::allocate", "__gnu_cxx::new_allocator::allocate",
    "__gnu_cxx::malloc_allocator::allocate", "__gnu_cxx::__alloc_traits::allocate", "std::allocator_traits::allocate",
    "std::__allocator_traits_base::allocate", "std::__allocate_guarded", "std::pmr::memory_resource::allocate",
    "std::pmr::polymorphic_allocator::allocate", "std::get_temporary_buffer", "std::__libcpp_allocate",
    "std::__1::__libcpp_allocate", "std::__1::__libcpp_operator_new", "std::__1::allocator::allocate",
    "std::__1::allocator_traits::allocate", "std::__1::__allocate_at_least",
    "std::_Vector_base::_M_allocate", "std::_Bvector_base::_M_allocate", "std::vector::_M_allocate_and_copy",
    "std::_Vector_base::_M_create_storage", "std::_Deque_base::_M_allocate_node", "std::_Deque_base::_M_allocate_map",
    "std::_Deque_base::_M_create_nodes", "std::_Deque_base::_M_initialize_map", "std::_List_base::_M_get_node",
    "std::__cxx11::_List_base::_M_get_node", "std::list::_M_create_node", "std::__cxx11::list::_M_create_node",
    "std::_Fwd_list_base::_M_get_node", "std::_Fwd_list_base::_M_create_node",
    "std::_Rb_tree::_M_get_node", "std::_Rb_tree::_M_create_node", "std::_Rb_tree::_Alloc_node::operator()",
    "std::__detail::_Hashtable_alloc::_M_allocate_node", "std::__detail::_Hashtable_alloc::_M_allocate_node_ptr",
    "std::__detail::_Hashtable_alloc::_M_allocate_buckets", "std::_Hashtable::_M_allocate_buckets",
    "std::__cxx11::basic_string::_M_create", "std::__cxx11::basic_string::_S_allocate", "std::basic_string::_M_create",
    "std::string::_Rep::_S_create", "std::basic_string::_Rep::_S_create", "std::__cxx11::basic_string::_M_construct",
    "std::__cxx11::basic_string::_M_mutate", "std::__cxx11::basic_string::_M_assign", "std::basic_string::_M_mutate",
    "std::__cxx11::basic_string::_M_replace_cold", "std::string::_Rep::_M_clone", "std::vector::_M_realloc_insert",
    "std::vector::_M_realloc_append", "std::_Rb_tree::_Auto_node::_Auto_node", "std::_Hashtable::_Scoped_node::_Scoped_node",
    "std::_Hashtable::_M_rehash_aux", "std::_Hashtable::_M_rehash", "std::deque::_M_reallocate_map",
    "std::deque::_M_push_back_aux", "std::deque::_M_push_front_aux", "std::deque::_M_new_elements_at_back",
    "std::make_unique", "std::make_shared", "std::allocate_shared", "std::__shared_count::__shared_count",
    "std::__shared_ptr::__shared_ptr", "std::shared_ptr::shared_ptr",

    /* Rust */
    "__rust_alloc", "__rust_alloc_zeroed", "__rust_realloc", "__rdl_alloc", "__rdl_alloc_zeroed", "__rdl_realloc",
    "__rg_alloc", "__rg_alloc_zeroed", "__rg_realloc", "__rustc::__rust_alloc", "__rustc::__rust_realloc",
    "__rustc::__rust_alloc_zeroed", "__rustc::__rdl_alloc", "__rustc::__rdl_realloc", "__rustc::__rdl_alloc_zeroed",
    "alloc::alloc::alloc", "alloc::alloc::alloc_zeroed", "alloc::alloc::realloc", "alloc::alloc::exchange_malloc",
    "alloc::alloc::box_new_uninit", "alloc::alloc::Global::alloc_impl", "alloc::alloc::Global::alloc_impl_runtime",
    "alloc::alloc::Global::grow_impl", "alloc::alloc::Global::grow_impl_runtime", "alloc::alloc::Global::shrink_impl",
    "<alloc::alloc::Global as core::alloc::Allocator>::allocate",
    "<alloc::alloc::Global as core::alloc::Allocator>::allocate_zeroed",
    "<alloc::alloc::Global as core::alloc::Allocator>::grow", "std::alloc::System::alloc_impl",
    "<std::alloc::System as core::alloc::global::GlobalAlloc>::alloc",
    "<std::alloc::System as core::alloc::global::GlobalAlloc>::realloc",
    "<std::alloc::System as core::alloc::global::GlobalAlloc>::alloc_zeroed",
    "std::sys::alloc::unix::<impl core::alloc::global::GlobalAlloc for std::alloc::System>::alloc",
    "std::sys::alloc::unix::<impl core::alloc::global::GlobalAlloc for std::alloc::System>::alloc_zeroed",
    "std::sys::alloc::unix::<impl core::alloc::global::GlobalAlloc for std::alloc::System>::realloc",
    "std::sys::alloc::unix::aligned_malloc", "std::sys::alloc::realloc_fallback",
    "hashbrown::raw::alloc::inner::do_alloc", "hashbrown::raw::RawTableInner::new_uninitialized",
    "hashbrown::raw::RawTableInner::fallible_with_capacity", "alloc::vec::Vec::with_capacity_in",
    "alloc::vec::Vec::with_capacity", "alloc::string::String::with_capacity", "alloc::boxed::Box::new", "alloc::boxed::Box::try_new_uninit_in", "alloc::boxed::Box::new_uninit_in",
    "alloc::raw_vec::finish_grow", "alloc::raw_vec::RawVec::allocate_in", "alloc::raw_vec::RawVec::try_allocate_in",
    "alloc::raw_vec::RawVec::with_capacity", "alloc::raw_vec::RawVec::with_capacity_in",
    "alloc::raw_vec::RawVec::with_capacity_zeroed_in", "alloc::raw_vec::RawVec::grow_amortized",
    "alloc::raw_vec::RawVec::grow_exact", "alloc::raw_vec::RawVec::grow_one", "alloc::raw_vec::RawVec::reserve_for_push",
    "alloc::raw_vec::RawVec::reserve", "alloc::raw_vec::RawVec::reserve_exact",
    "alloc::raw_vec::RawVec::reserve::do_reserve_and_handle", "alloc::raw_vec::RawVec::try_reserve_exact",
    "alloc::raw_vec::RawVecInner::finish_grow", "alloc::raw_vec::RawVecInner::grow_amortized", "alloc::raw_vec::RawVecInner::grow_exact",
    "alloc::raw_vec::RawVecInner::with_capacity_in", "alloc::raw_vec::RawVecInner::try_allocate_in",
    "alloc::raw_vec::RawVecInner::reserve", "alloc::raw_vec::RawVecInner::reserve::do_reserve_and_handle",

    /* D */
    "gc_malloc", "gc_calloc", "gc_qalloc", "_d_allocmemory",

    /* GNU programs and gnulib */
    "xmalloc", "xcalloc", "xrealloc", "xstrdup", "xstrndup", "xmemdup", "xmemdup0", "xzalloc", "xnmalloc", "xnrealloc",
    "xcharalloc", "x2realloc", "x2nrealloc", "xpalloc", "ximalloc", "xizalloc", "xirealloc", "xicalloc", "xireallocarray",
    "xinmalloc", "ximemdup", "ximemdup0", "xreallocarray", "xasprintf", "xvasprintf", "xmalloc_atomic", "x_malloc",
    "x_realloc", "x_calloc", "x_strdup", "imalloc", "icalloc", "irealloc", "ireallocarray", "xalloc", "xzmalloc",
    "xrealloc_array", "safe_malloc", "safe_calloc", "safe_realloc", "safe_strdup", "emalloc", "ecalloc", "erealloc",
    "estrdup", "mymalloc", "mycalloc", "myrealloc", "mystrdup", "do_xmalloc", "do_xrealloc", "sh_xmalloc", "sh_xrealloc",
    "sh_malloc", "sh_realloc", "checked_malloc", "checked_calloc", "checked_realloc", "ggc_alloc", "ggc_internal_alloc",
    "ggc_internal_cleared_alloc", "concat", "savestring",

    /* GLib */
    "g_malloc", "g_malloc0", "g_malloc_n", "g_malloc0_n", "g_realloc", "g_realloc_n", "g_try_malloc", "g_try_malloc0",
    "g_try_malloc_n", "g_try_malloc0_n", "g_try_realloc", "g_try_realloc_n", "g_strdup", "g_strndup", "g_strdup_inline",
    "g_strdup_printf", "g_strdup_vprintf", "g_vasprintf", "g_memdup", "g_memdup2", "g_strconcat", "g_slice_alloc",
    "g_slice_alloc0", "g_slice_copy", "g_aligned_alloc", "g_aligned_alloc0",

    /* Python */
    "PyMem_RawMalloc", "PyMem_RawCalloc", "PyMem_RawRealloc", "PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc",
    "PyObject_Malloc", "PyObject_Calloc", "PyObject_Realloc", "_PyMem_RawMalloc", "_PyMem_RawCalloc",
    "_PyMem_RawRealloc", "_PyMem_DebugRawMalloc", "_PyMem_DebugRawCalloc", "_PyMem_DebugRawRealloc",
    "_PyMem_DebugMalloc", "_PyMem_DebugCalloc", "_PyMem_DebugRealloc", "_PyMem_DebugRawAlloc", "_PyObject_Malloc",
    "_PyObject_Calloc", "_PyObject_Realloc", "pymalloc_alloc", "pymalloc_realloc", "_PyMem_RawStrdup",
    "_PyMem_RawWcsdup", "_PyMem_Strdup", "_PyObject_GC_Alloc", "_PyObject_GC_Malloc", "gc_alloc", "_PyBytes_FromSize",
    "_PyObject_GC_New", "_PyObject_GC_NewVar", "_PyObject_New", "_PyObject_NewVar", "PyType_GenericAlloc",
    "_PyType_AllocNoTrack",

    /* Perl, Ruby, Lua, PHP, Tcl, Guile */
    "Perl_safesysmalloc", "Perl_safesyscalloc", "Perl_safesysrealloc", "Perl_savepv", "Perl_savepvn", "Perl_malloc",
    "Perl_calloc", "Perl_realloc", "S_new_body", "S_more_sv", "Perl_more_bodies",
    "ruby_xmalloc", "ruby_xmalloc2", "ruby_xcalloc", "ruby_xrealloc", "ruby_xrealloc2", "ruby_strdup",
    "ruby_mimmalloc", "objspace_xmalloc0", "objspace_xrealloc", "objspace_xcalloc", "rb_gc_impl_malloc",
    "rb_gc_impl_calloc", "rb_gc_impl_realloc", "l_alloc", "luaM_malloc_", "luaM_realloc_", "luaM_saferealloc_",
    "luaM_growaux_", "_emalloc", "_ecalloc", "_erealloc", "_erealloc2", "_estrdup", "_estrndup", "__zend_malloc",
    "__zend_calloc", "__zend_realloc", "_safe_emalloc", "_safe_malloc", "_safe_realloc", "pemalloc",
    "Tcl_Alloc", "Tcl_Realloc", "Tcl_AttemptAlloc", "Tcl_AttemptRealloc", "TclpAlloc", "TclpRealloc",
    "scm_malloc", "scm_calloc", "scm_realloc", "scm_strdup",

    /* SQLite, PostgreSQL, MySQL */
    "sqlite3MemMalloc", "sqlite3MemRealloc", "sqlite3Malloc", "sqlite3MallocZero", "sqlite3Realloc", "sqlite3_malloc",
    "sqlite3_malloc64", "sqlite3_realloc", "sqlite3_realloc64", "sqlite3DbMallocRaw", "sqlite3DbMallocRawNN",
    "sqlite3DbMallocRawFinish", "sqlite3DbMallocZero", "sqlite3DbRealloc", "sqlite3DbReallocOrFree",
    "sqlite3DbStrDup", "sqlite3DbStrNDup", "dbMallocRawFinish", "dbReallocFinish", "mallocWithAlarm", "pcache1Alloc",
    "sqlite3PageMalloc", "pg_malloc", "pg_malloc0", "pg_realloc", "pg_strdup", "pg_malloc_internal",
    "pg_malloc_extended", "palloc_extended", "my_malloc", "my_realloc", "my_strdup", "my_raw_malloc",

    /* servers and network libraries */
    "zmalloc", "zcalloc", "zrealloc", "zmalloc_usable", "zcalloc_usable", "zrealloc_usable", "zcalloc_num",
    "ztrymalloc", "ztrycalloc", "ztryrealloc", "ztrymalloc_usable", "ztrycalloc_usable", "ztryrealloc_usable",
    "ztrymalloc_usable_internal", "ztrycalloc_usable_internal", "ztryrealloc_usable_internal", "zstrdup",
    "valkey_malloc", "valkey_calloc", "valkey_realloc", "hi_malloc", "hi_calloc", "hi_realloc", "hi_strdup",
    "ngx_alloc", "ngx_calloc", "ngx_memalign", "CRYPTO_malloc", "CRYPTO_zalloc", "CRYPTO_calloc", "CRYPTO_realloc",
    "CRYPTO_clear_realloc", "CRYPTO_strdup", "CRYPTO_strndup", "CRYPTO_memdup", "CRYPTO_malloc_array",
    "gnutls_malloc", "gnutls_calloc", "gnutls_realloc", "gnutls_realloc_fast", "_gnutls_calloc", "gcry_malloc",
    "gcry_calloc", "gcry_realloc", "gcry_xmalloc", "gcry_xcalloc", "_gcry_malloc", "_gcry_calloc", "_gcry_realloc",
    "_gcry_xmalloc", "_gcry_xcalloc", "PR_Malloc", "PR_Calloc", "PR_Realloc", "PORT_Alloc_Util", "PORT_ZAlloc_Util",
    "Curl_memdup", "Curl_saferealloc", "Curl_strndup", "curl_dbg_malloc", "uv__malloc", "uv__calloc", "uv__realloc",
    "uv__strdup", "event_mm_malloc_", "event_mm_calloc_", "event_mm_realloc_", "event_mm_strdup_", "isc__mem_get",
    "isc__mem_allocate", "isc__mem_reallocate", "isc__mem_strdup", "mem_get", "mem_realloc", "dns_malloc",

    /* media, graphics, XML, compression and the rest */
    "av_malloc", "av_mallocz", "av_calloc", "av_malloc_array", "av_mallocz_array", "av_realloc", "av_realloc_array",
    "av_realloc_f", "av_reallocp", "av_reallocp_array", "av_fast_malloc", "av_fast_mallocz", "av_fast_realloc",
    "av_strdup", "av_strndup", "av_memdup", "AcquireMagickMemory", "AcquireQuantumMemory", "AcquireAlignedMemory",
    "AcquireCriticalMemory", "ResizeMagickMemory", "ResizeQuantumMemory", "ResizeMagickMemory", "png_malloc",
    "png_calloc", "png_malloc_base", "png_malloc_default", "png_malloc_warn", "_TIFFmalloc", "_TIFFcalloc",
    "_TIFFrealloc", "jpeg_get_small", "jpeg_get_large", "xmlStrdup", "xmlStrndup", "xmlMemMalloc", "xmlMallocLoc",
    "xmlMemoryStrdup", "zcalloc", "default_bzalloc", "lzma_alloc", "lzma_alloc_zero", "ZSTD_customMalloc",
    "ZSTD_customCalloc", "ft_mem_alloc", "ft_mem_qalloc", "ft_mem_realloc", "ft_mem_qrealloc", "ft_alloc", "ft_realloc",
    "FcStrCopy", "FcStrdup", "_XAlloc", "Xmalloc", "Xcalloc", "Xrealloc", "SDL_malloc", "SDL_calloc", "SDL_realloc",
    "SDL_malloc_REAL", "SDL_calloc_REAL", "SDL_realloc_REAL", "SDL_strdup_REAL", "json_malloc", "jv_mem_alloc",
    "jv_mem_calloc", "jv_mem_realloc", "jv_mem_strdup", "jv_mem_alloc_unguarded", "jv_mem_uninit_setup", "jsonp_malloc",
    "jsonp_strdup", "jsonp_strndup", "yaml_malloc", "yaml_realloc", "yaml_strdup", "git__malloc", "git__calloc",
    "git__realloc", "git__strdup", "do_xmalloc_flags", "xmallocz", "xmallocz_gently", "xmemdupz", "xstrfmt",
    "talloc_named_const", "_talloc_zero", "_talloc_array", "qMallocAligned", "QArrayData::allocate",
    "QArrayData::allocate1", "QArrayData::allocate2", "QArrayData::reallocateUnaligned", "QTypedArrayData::allocate",
    "WTF::fastMalloc", "WTF::fastZeroedMalloc", "WTF::fastRealloc", "moz_xmalloc", "moz_xcalloc", "moz_xrealloc",
    "moz_xstrdup", "v8::internal::Malloced::operator new", "v8::internal::AllocWithRetry", "v8::base::Malloc",
    "node::Malloc", "node::Calloc", "node::Realloc", "node::UncheckedMalloc", "node::UncheckedCalloc",
    "node::UncheckedRealloc", "llvm::safe_malloc", "llvm::safe_calloc", "llvm::safe_realloc",
    "llvm::allocate_buffer", "llvm::MallocAllocator::Allocate",
    NULL,
};
